//! What stands below each command's help: how it is used, line by line.

pub const START: &str = "Start here:
  epitome demo                                  a real session, compacted before your eyes
  epitome sessions                              your own sessions: how full, what they cost
  epitome inspect 1                             what fills the first of them
  epitome compact 1 --resume                    make it fit, and go on with it in its own tool

Exit status: 0 done (nothing to do included), 1 failed, 2 not understood";

pub const SESSIONS: &str = "Examples:
  epitome sessions                              the newest of all tools
  epitome sessions --here                       those of this folder
  epitome sessions parser --tool codex --all    every one of Codex that speaks of a parser
  epitome sessions --sort spent --json          by what they cost, for a script

A session is then opened by its number, its id or its name: epitome inspect 3";

pub const INSPECT: &str = "Examples:
  epitome inspect session.jsonl                 a picture of it
  epitome inspect session.jsonl --html page.html  the same as a page with plots, for a browser
  epitome inspect ~/.codex/sessions             every transcript in a folder
  epitome inspect session.jsonl --json          all figures, for a script
  curl -s URL | epitome inspect -               from standard input";

pub const CONTEXT: &str = "Examples:
  epitome context session.jsonl                             as an Anthropic Messages body
  epitome context session.jsonl --to openai-chat            as a Chat Completions body
  epitome context batch.json --conversation 3 --max-tokens 1024";

pub const COMPACT: &str = "Examples:
  epitome compact 3 --resume --window 64000               a copy its own tool goes on with, and the command for that
  epitome compact s.jsonl -o small.jsonl --window 64000   the same to a file of yours
  epitome compact s.jsonl --dry-run -v                    the plan whole, and nothing written
  epitome compact s.jsonl --summarizer fast -o small.jsonl  a model of yours writes the summary
  epitome compact s.jsonl --target 16000 --json           the record alone
  epitome compact run.traj -o run.epitome                 originals inside; `undo` gives them back
  epitome compact sessions/ -o smaller/ --window 64000    a folder of them";

pub const REPLAY: &str = "Examples:
  epitome replay s.jsonl --window 64k                when it is compacted, and what that saves
  epitome replay s.jsonl --compare default,pi        presets beside what was recorded
  epitome replay s.jsonl --window 64000 --json       one JSON document per model call
  epitome replay s.jsonl --json --contexts --to openai-chat";

pub const TOKENS: &str = "Examples:
  epitome tokens README.md --model gpt-5
  git diff | epitome tokens --model claude-sonnet-4-5 --json";

pub const RECALL: &str = "Examples:
  epitome recall small.jsonl m0123              what was said there, word for word
  epitome recall small.jsonl m0370-m0372 m0380  several; the summary, where a compaction is named
  epitome recall small.jsonl m0123 --json";

pub const UNDO: &str = "Examples:
  epitome undo small.jsonl -o session.jsonl     the original, byte for byte
  epitome undo small.jsonl -o small.jsonl       in place";

pub const REDO: &str = "Examples:
  epitome redo --session s0001                  the one taken back last
  epitome redo --session s0001 m0234            this one";

pub const IMPORT: &str = "Examples:
  epitome import session.jsonl                  any format that is read; the file itself is kept in it
  epitome import 1                              the first session of `epitome sessions`
  epitome import ~/.codex/sessions --json       every transcript in a folder

The same file is not imported twice. What is kept: every message, every compaction, and the file byte for byte.";

pub const EXPORT: &str = "Examples:
  epitome export s0001 -o session.jsonl         the file it came from, with what was added since
  epitome export s0001 --to native -o s.epitome everything: all paths, compactions, labels, judgements
  epitome export s0001 --to anthropic -o body.json  what the model would see now";

pub const HISTORY: &str = "Examples:
  epitome history s0001                         the path it is on; what is out of view is marked
  epitome history s0001 --all                   other paths, too
  epitome history s0001 --json";

pub const TREE: &str = "Examples:
  epitome tree s0001                            where it forks, where it was compacted, where it is
  epitome tree s0001 --json";

pub const SHOW: &str = "Examples:
  epitome show s0001                            what is known of the session
  epitome show s0001 m0123 m0130-m0134          messages, whole; a compaction with its record";

pub const SEARCH: &str = "Examples:
  epitome search parse_header                   anywhere, what is out of view included
  epitome search deploy --tool bash --since 7d  calls of a tool, of the last week
  epitome search TODO --session s0001 --limit 5 --json";

pub const ROLLBACK: &str = "Examples:
  epitome rollback s0001 m0120                  as it was when m0120 was said
  epitome rollback s0001 m0311                  and forward again: `epitome tree s0001` knows the way";

pub const NAVIGATE: &str = "Examples:
  epitome navigate s0001 m0120 --summary        another try from m0120, which is told what the first came to
  epitome navigate s0001 m0120 --summary --focus 'what failed'";

pub const FORK: &str = "Examples:
  epitome fork s0001                            another session that goes on from where s0001 is
  epitome fork s0001 m0120                      and from m0120";

pub const LABEL: &str = "Examples:
  epitome label s0001 'before the rewrite'
  epitome label s0001 'tests were green' --at m0120";

pub const FLAG: &str = "Examples:
  epitome flag s0001 m0234 good
  epitome flag s0001 m0234 bad --notes 'lost the rule about config.toml'";

pub const AUDIT: &str = "Examples:
  epitome audit --since 1d                      what happened since yesterday
  epitome audit --session s0001 --kind completed --json";

pub const COST: &str = "Examples:
  epitome cost                                  a line for each session
  epitome cost --by model                       a line for each model
  epitome cost --by day --json

`primary` are the sessions' own calls, `compactor` those that wrote summaries. At list prices; unknown is a dash.";

pub const EXPIRE: &str = "Examples:
  epitome expire --older-than 90d --dry-run     what would go
  epitome expire --larger-than 2GB              the oldest, until the rest fits

Whole sessions go, with everything said in them and nowhere else; what went is in `epitome audit`.";

pub const DOCTOR: &str = "Examples:
  epitome doctor
  epitome doctor --store sqlite:/srv/epitome.db --json

Exit status: 0 where all is well, 1 where something is not";

pub const MODELS: &str = "Examples:
  epitome models                                all of them
  epitome models gpt-5 --json                   one, with the source of each figure";

pub const PRESETS: &str = "Examples:
  epitome presets                               all of them
  epitome presets pi@0.83                       one, whole, with what it rests on";

pub const CONFIG: &str = "Examples:
  epitome config                                what you have set, and what it comes to
  epitome config --all                          every setting, and who said it
  epitome config --preset kaged --model gpt-5   with another preset, for one model
  epitome config --agent agents/reviewer.md --json
  epitome config --set trigger.at=70% --window 200000";

pub const INIT: &str = "Examples:
  epitome init
  epitome init --dir ~/projects/site";

pub const SERVE: &str = "Examples:
  epitome serve                                 then set ANTHROPIC_BASE_URL=http://127.0.0.1:7117
  epitome serve --window 64000                  keep every context within 64000 tokens
  epitome serve --set trigger.at=70%            with a setting for this run
  epitome serve --upstream http://127.0.0.1:8000 --listen 127.0.0.1:0";

pub const DEMO: &str = "Examples:
  epitome demo
  epitome demo --window 32000 --json";

pub const VERSION: &str = "Examples:
  epitome version
  epitome version --verbose                     for a report of a bug";

pub const COMPLETIONS: &str = "Examples:
  epitome completions bash > ~/.local/share/bash-completion/completions/epitome
  epitome completions zsh > ~/.zfunc/_epitome";

pub const MAN: &str = "Example:
  epitome man | man -l -";
