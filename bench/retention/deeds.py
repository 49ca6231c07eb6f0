"""What calls did: shell commands, files read and changed, questions asked and answered, todo lists, failures."""

import json
import re

from view import is_question

_SHELL = re.compile(
    r"^(?:bash|shell|shell_command|exec_command|execute_bash|run_shell_command|powershell|local_shell)$", re.I
)
_EDIT = re.compile(r"^(?:edit|multiedit|multi_edit|replace|str_replace|notebookedit|edit_file|search_replace)$", re.I)
_WRITE = re.compile(r"^(?:write|create|write_file|create_file)$", re.I)
_READ = re.compile(r"^(?:read|view|read_file|cat|open_file|notebookread)$", re.I)
_PATH_KEYS = ("file_path", "filePath", "path", "filename", "notebook_path", "target_file", "file")
_PATCH_LINE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.M)
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n.*?(?:\n\s*\1\b|\Z)", re.S)
_SEPARATOR = re.compile(r"\s*(?:&&|\|\||;|\||\n)\s*")
_FAILED_TEXT = re.compile(
    r"^\s*(?:<tool_use_error>|Error: |error: |Exit code [1-9]|The user doesn't want to proceed|"
    r"apply_patch verification failed|\[Request interrupted)|Process exited with code [1-9]|^Exit code: [1-9]|"
    r"<returncode>[1-9]|\"exit_code\":\s*[1-9]|Command exited with code [1-9]|exited with exit code [1-9]",
    re.M,
)


def shell_text(block):
    """The command line of a shell call, or nothing."""
    if block.kind != "call" or not block.name or not _SHELL.match(block.name) or not isinstance(block.args, dict):
        return None
    value = block.args.get("command") or block.args.get("cmd") or block.args.get("script")
    if isinstance(value, list):
        value = value[-1] if len(value) == 3 and value[1] in ("-c", "-lc") else " ".join(map(str, value))
    return value if isinstance(value, str) else None


def commands_of(block):
    """The single commands of a shell call, without the text of here-documents."""
    text = shell_text(block)
    if not text:
        return []
    parts = _SEPARATOR.split(_HEREDOC.sub("", text))
    return [" ".join(part.split()) for part in parts if part.strip()]


def purposes(block):
    """What a call was for, in forms that a second try has in common with the first; the last is its aim."""
    out = []
    for command in commands_of(block):
        if re.match(r"(?:cd|echo|export|sleep|set|source|pwd|true|head|tail|grep|sort|wc)\b", command):
            continue
        parts = [p for p in re.sub(r"\d?>&?\S*", "", command).split() if not re.match(r"[A-Z_]+=", p)]
        plain = [p for p in parts if not p.startswith("-")]
        # `uv run pytest` and `uv run python` are two things, as `npm run lint` and `npm run build` are.
        head = plain[: 3 if plain[1:2] and plain[1] in ("run", "exec", "x", "dlx") else 2]
        if head:
            out.append(("shell", *head))
    if out or shell_text(block):
        return out
    strings = [v for v in block.args.values() if isinstance(v, str)] if isinstance(block.args, dict) else []
    target = _path_argument(block) or next(iter(strings), None)
    return [(block.name.lower(), target)] if target else []


def _path_argument(block):
    if isinstance(block.args, dict):
        for key in _PATH_KEYS:
            if isinstance(block.args.get(key), str):
                return block.args[key]
    return None


def results_by_id(blocks):
    """The result of each call, by the call's id; ids may come again, so each pairs with the next result."""
    pairs, waiting = {}, {}
    for number, block in enumerate(blocks):
        if block.kind == "call":
            waiting[block.id] = number
        elif block.kind == "result" and block.id in waiting:
            pairs[waiting.pop(block.id)] = number
    return pairs


def has_failed(result):
    ends = (result.text[:600], result.text[-300:])
    return result.failed or any(_FAILED_TEXT.search(text) for text in ends)


# --- files ---


def files_touched(blocks):
    """What was done to each file: path -> "changed" or "read"; a change outlasts a read. Failures are left out, and
    scratch files in folders for temporary ones."""
    pairs, done = results_by_id(blocks), {}
    for number, block in enumerate(blocks):
        if block.kind != "call" or (number in pairs and has_failed(blocks[pairs[number]])):
            continue
        for path, deed in _deeds(block):
            path = path.strip("\"'`")
            path = path[2:] if path.startswith("./") else path
            if not is_file(path):
                continue
            if deed == "changed" or path not in done:
                done[path] = deed
    return _one_path_each(done)


def is_file(path):
    name = re.split(r"[/\\]", path)[-1]
    scratch = re.match(r"/dev/|/tmp/|/private/tmp/|/var/folders/|[A-Z]:\\Users\\[^\\]+\\AppData\\Local\\Temp", path)
    named = len(name) > 1 and re.search(r"[A-Za-z]", name) and not re.search(r"[*?$<>{}()\s|;&=]", path)
    return bool(named) and not scratch


def _deeds(block):
    name, path = block.name or "", _path_argument(block)
    if name == "apply_patch" or "*** Begin Patch" in block.text:
        for found in _PATCH_LINE.findall(block.text):
            yield (found[1] or found[2]).strip(), "changed"
    elif name == "str_replace_editor" and path:
        deed = "read" if block.args.get("command") == "view" else "changed"
        yield path, deed
    elif path and (_EDIT.match(name) or _WRITE.match(name)):
        yield path, "changed"
    elif path and _READ.match(name):
        yield path, "read"
    elif shell_text(block):
        yield from _shell_deeds(block)


def _shell_deeds(block):
    # Of a here-document only the line that opens it is the shell's.
    line = _HEREDOC.sub(lambda document: document.group().split("\n")[0], shell_text(block))
    for target in re.findall(r"(?<![0-9&<>=-])>{1,2}\s*([\w./~@+-]+)", line):
        if "/" in target or "." in target:
            yield target, "changed"
    for command in commands_of(block):
        parts = command.split()
        parts = parts[1:] if parts[:2] in (["git", "rm"], ["git", "mv"]) else parts
        program, files = parts[0], [p for p in parts[1:] if not p.startswith("-")]
        whole_folders = any(p.startswith("-") and "r" in p for p in parts[1:])
        if program in ("tee", "touch") or (program == "rm" and not whole_folders):
            yield from ((file, "changed") for file in files)
        elif program in ("mv", "cp") and len(files) == 2 and not whole_folders and "." in files[0].rsplit("/", 1)[-1]:
            yield from ((file, "changed") for file in files[program == "cp" :])
        elif program == "sed" and any(p.startswith("-i") for p in parts[1:]) and files:
            yield files[-1], "changed"
        elif program in ("cat", "head", "tail", "nl", "less") and files and "<<" not in command:
            yield files[-1], "read"
        elif program == "sed" and "-n" in parts and len(files) >= 2:
            yield files[-1], "read"


def _one_path_each(done):
    """One path for one file: a relative path that ends an absolute one is the same file."""
    whole = sorted(done, key=len, reverse=True)
    out = {}
    for path in whole:
        longer = next((p for p in out if _same_file(p, path)), None)
        key = longer or path
        out[key] = "changed" if "changed" in (done[path], out.get(key)) else "read"
    return out


def _same_file(longer, shorter):
    longer, shorter = longer.replace("\\", "/"), shorter.replace("\\", "/")
    return longer == shorter or ("/" in shorter and longer.endswith("/" + shorter.lstrip("/")))


# --- questions ---


def answers_given(blocks):
    """The person's answers to questions the agent asked with a tool, as (question, answer, block)."""
    pairs, out = results_by_id(blocks), []
    for number, block in enumerate(blocks):
        if block.kind != "call" or not is_question(block) or not isinstance(block.args, dict):
            continue
        answer_at = pairs.get(number)
        if answer_at is None:
            continue
        found = _answers_in(block, blocks[answer_at].text) or _said_next(block, blocks, answer_at)
        out.extend((question, answer, answer_at) for question, answer in found)
    return out


def _answers_in(call, text):
    asked = [q["question"] for q in call.args.get("questions", ()) if isinstance(q, dict) and "question" in q]
    out = []
    for question in asked:
        start = text.find(f'"{question}"="')
        if start >= 0:
            rest = text[start + len(question) + 4 :]
            end = re.search(r"\"(?:,? ?user notes: |, \"|\. You can now| selected|$)", rest)
            answer = rest[: end.start() if end else len(rest)].strip()
            if answer:
                out.append((question, answer))
    single = call.args.get("question")
    match = re.match(r"\s*User (?:responded|selected|answered|chose):?\s*(.+)", text, re.S)
    if not asked and isinstance(single, str) and match:
        out.append((single, match.group(1).strip()))
    return out


def _said_next(call, blocks, at):
    """Where a question tool only shows the question, the answer is the person's next message."""
    question = call.args.get("question")
    if not isinstance(question, str):
        return []
    for block in blocks[at : at + 4]:
        if block.by_person:
            return [(question, block.said)]
    return []


# --- todo lists ---


def open_todos(blocks):
    """The items of the newest todo list that are not done."""
    listed, single = [], {}
    pairs = results_by_id(blocks)
    for number, block in enumerate(blocks):
        if block.kind != "call" or not isinstance(block.args, dict):
            continue
        name = (block.name or "").lower()
        items = block.args.get("todos") or block.args.get("plan")
        if name in ("todowrite", "todo_write", "write_todos", "update_plan", "todowritetool") and items is not None:
            listed = _items(items)
        elif name == "taskcreate" and number in pairs:
            found = re.search(r"#(\w+)", blocks[pairs[number]].text)
            if found:
                single[found.group(1)] = [block.args.get("subject", ""), "pending"]
        elif name == "taskupdate" and str(block.args.get("taskId")) in single:
            task = single[str(block.args["taskId"])]
            task[1] = block.args.get("status", task[1])
    done = ("completed", "done", "deleted", "cancelled")
    return [text for text, state in [*listed, *single.values()] if text and state not in done]


def _items(items):
    if isinstance(items, str):
        try:
            items = json.loads(items)
        except ValueError:
            return []
    found = [item for item in items if isinstance(item, dict)]
    return [(i.get("content") or i.get("step") or i.get("title") or "", i.get("status", "")) for i in found]


# --- failures ---

_SPEAKS_OF_FAILURE = re.compile(
    r"fail|error|block|unable|cannot|can't|could not|couldn't|denied|失敗|エラー|失败|错误|실패|오류", re.I
)


def failures(blocks, turn_ends):
    """Failed calls, each with whether something overcame it: (call number, overcome). A later call of the same aim
    succeeded, or its turn ended in words that say nothing of a failure. `turn_ends`: [(end of turn, closing reply)]."""
    pairs = results_by_id(blocks)
    succeeded, out = set(), []
    for number in sorted(pairs, reverse=True):
        aims = purposes(blocks[number])
        if not aims:
            continue
        if not has_failed(blocks[pairs[number]]):
            succeeded.update(aims)
            continue
        closing = next((reply for end, reply in turn_ends if number < end), "")
        passed = bool(closing.strip()) and not _SPEAKS_OF_FAILURE.search(closing)
        out.append((number, aims[-1] in succeeded or passed))
    return out[::-1]
