"""What a compaction leaves a reader: packets to answer from blindly, sheets to grade by, and the table of the grades.

    python3 bench/readers packets --out DIR --seed 7          contexts with questions, and DIR/key.json apart
    python3 bench/readers sheets --packets DIR --answers A --out S
    python3 bench/readers score --packets DIR --answers A --graded G

Readers get `reader.md` and the packets of one round of DIR/rounds.json; graders get `grader.md` and S. Nobody opens the
key before the grades are in. Standard library only; transcripts and baselines are those of `bench/retention`.
"""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "retention")]

import needs  # noqa: E402
import packets  # noqa: E402
import sheets  # noqa: E402
import table  # noqa: E402
from baselines import BASELINES  # noqa: E402
from contexts import contexts  # noqa: E402
from program import Program, ProgramError  # noqa: E402

# The commonest way of making room, and the one that comes nearest to ours in `needs` of bench/RETENTION.md.
USUAL = ("first + tail", "extractive")


def options(arguments):
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python3 bench/readers", description=__doc__, formatter_class=raw)
    commands = parser.add_subparsers(dest="command", required=True)
    _packets_options(commands.add_parser("packets", help="make the contexts and the questions"))
    sheet = commands.add_parser("sheets", help="put answers beside what is right, for graders")
    score = commands.add_parser("score", help="the table of graded answers")
    for command in (sheet, score):
        command.add_argument("--packets", required=True, type=Path, help="the folder that `packets` made")
        command.add_argument("--answers", required=True, type=Path, help="a folder of PACKET.json by readers")
        _needs_option(command)
    _corpus_option(sheet)
    sheet.add_argument("--out", required=True, type=Path, help="a folder for the sheets")
    score.add_argument("--graded", required=True, type=Path, help="a folder of PACKET.json by graders")
    score.add_argument("--misses", metavar="METHOD", help="print what readers of this method did not know")
    return parser.parse_args(arguments)


def _packets_options(parser):
    root = HERE.parent.parent
    parser.add_argument("--binary", default=str(root / "target/release/epitome"), help="the program to measure")
    parser.add_argument("--out", required=True, type=Path, help="a folder for packets, rounds and key")
    parser.add_argument("--seed", required=True, type=int, help="which names and orders are drawn")
    parser.add_argument("--window", type=int, default=64_000, help="the window in tokens that is compacted for")
    parser.add_argument("--baseline", action="append", choices=BASELINES, help=f"{' and '.join(USUAL)} if left out")
    parser.add_argument("--only", default="", metavar="TEXT", help="lists whose name holds this")
    _needs_option(parser)
    _corpus_option(parser)


def _needs_option(parser):
    parser.add_argument("--needs", type=Path, default=HERE.parent / "needs", help="the lists of what must be known")


def _corpus_option(parser):
    parser.add_argument("--corpus", type=Path, default=HERE.parent.parent / "corpus", help="a folder of transcripts")


def make_packets(chosen):
    program, lists, made = Program(chosen.binary), needs.lists(chosen.needs), {}
    for session, listed in lists.items():
        if chosen.only in session:
            made[session] = contexts(program, listed, chosen.corpus, chosen.window, chosen.baseline or USUAL)
            sizes = ", ".join(f"{context.method} {context.tokens:,}" for context in made[session])
            print(f"{session}: {sizes}", file=sys.stderr)
    packets.write(chosen.out, chosen.seed, chosen.window, made, lists)


def main():
    chosen = options(sys.argv[1:])
    try:
        if chosen.command == "packets":
            make_packets(chosen)
        elif chosen.command == "sheets":
            key, answers = packets.key(chosen.packets), packets.replies(chosen.answers)
            sheets.write(chosen.out, key, needs.lists(chosen.needs), answers, chosen.corpus)
        else:
            key, listed = packets.key(chosen.packets), needs.lists(chosen.needs)
            results = table.results(key, listed, packets.replies(chosen.answers), packets.replies(chosen.graded))
            print(table.misses(results, chosen.misses) if chosen.misses else table.report(results))
    except (ProgramError, OSError, ValueError) as error:
        sys.exit(f"{chosen.command}: {error}")


if __name__ == "__main__":
    main()
