"""Three ways to say the same: what `forks.py` says, as requests of each protocol, and what its provider answers.

A message stands here as Anthropic's: words, or blocks of text, calls and results. The provider gives back the body it was sent in the
field `echo` of its reply, or of the first event of a stream.
"""
import json


def dumps(value):
    return json.dumps(value, separators=(",", ":"))


def blocks(message):
    """What a message consists of: each block with its kind."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class Anthropic:
    name, path, model, list_key, key_header = "anthropic", "/v1/messages", "claude-haiku-4-5", "messages", "x-api-key"

    @staticmethod
    def elements(message):
        return [message]

    @staticmethod
    def body(elements, is_streamed):
        stream = ',"stream":true' if is_streamed else ""
        return f'{{"model":"{Anthropic.model}","max_tokens":200{stream},"messages":[{",".join(elements)}]}}'

    @staticmethod
    def reply(number, echo):
        return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": Anthropic.model, "stop_reason": "end_turn", "stop_sequence": None,
                "content": [{"type": "text", "text": "so be it"}], "usage": {"input_tokens": 10, "output_tokens": 3}, "echo": echo}

    @staticmethod
    def events(number, echo):
        begun = {**Anthropic.reply(number, echo), "content": [], "stop_reason": None}
        yield "message_start", {"type": "message_start", "message": begun}
        yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "so be it"}}
        yield "content_block_stop", {"type": "content_block_stop", "index": 0}
        yield "message_delta", {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 3}}
        yield "message_stop", {"type": "message_stop"}

    @staticmethod
    def echo_in(event):
        return event.get("message", {}).get("echo")

    @staticmethod
    def calls_and_results(element):
        for block in blocks(element):
            if block["type"] == "tool_use":
                yield block["id"], None
            if block["type"] == "tool_result":
                yield None, block["tool_use_id"]

    @staticmethod
    def role_faults(list_):
        roles = [element["role"] for element in list_]
        if roles[0] != "user" or any(a == b for a, b in zip(roles, roles[1:])):
            yield f"roles: {roles[:6]}"


class Chat:
    name, path, model, list_key, key_header = "chat", "/v1/chat/completions", "gpt-5", "messages", "authorization"

    @staticmethod
    def elements(message):
        """One for each result, and one for all else."""
        said, calls = [], []
        for block in blocks(message):
            if block["type"] == "tool_result":
                yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]}
            elif block["type"] == "tool_use":
                calls.append({"id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": dumps(block["input"])}})
            else:
                said.append(block["text"])
        if said or calls:
            yield {"role": message["role"], "content": "\n".join(said), **({"tool_calls": calls} if calls else {})}

    @staticmethod
    def body(elements, is_streamed):
        stream = ',"stream":true,"stream_options":{"include_usage":true}' if is_streamed else ""
        return f'{{"model":"{Chat.model}","max_completion_tokens":200{stream},"messages":[{",".join(elements)}]}}'

    @staticmethod
    def reply(number, echo):
        choice = {"index": 0, "message": {"role": "assistant", "content": "so be it"}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
        return {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": Chat.model, "choices": [choice], "usage": usage, "echo": echo}

    @staticmethod
    def events(number, echo):
        chunk = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": Chat.model}
        yield "", {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}], "echo": echo}
        yield "", {**chunk, "choices": [{"index": 0, "delta": {"content": "so be it"}, "finish_reason": None}]}
        yield "", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        yield "", {**chunk, "choices": [], "usage": Chat.reply(number, "")["usage"]}
        yield "", "[DONE]"

    @staticmethod
    def echo_in(event):
        return event.get("echo")

    @staticmethod
    def calls_and_results(element):
        for call in element.get("tool_calls", ()):
            yield call["id"], None
        if element["role"] == "tool":
            yield None, element["tool_call_id"]

    @staticmethod
    def role_faults(_):
        return ()


class Responses:
    name, path, model, list_key, key_header = "responses", "/v1/responses", "gpt-5", "input", "authorization"

    @staticmethod
    def elements(message):
        """One for each call and result, and one for words."""
        kind = "output_text" if message["role"] == "assistant" else "input_text"
        for block in blocks(message):
            if block["type"] == "tool_result":
                yield {"type": "function_call_output", "call_id": block["tool_use_id"], "output": block["content"]}
            elif block["type"] == "tool_use":
                yield {"type": "function_call", "call_id": block["id"], "name": block["name"], "arguments": dumps(block["input"])}
            else:
                yield {"type": "message", "role": message["role"], "content": [{"type": kind, "text": block["text"]}]}

    @staticmethod
    def body(elements, is_streamed):
        stream = ',"stream":true' if is_streamed else ""
        return f'{{"model":"{Responses.model}","max_output_tokens":200{stream},"store":false,"input":[{",".join(elements)}]}}'

    @staticmethod
    def reply(number, echo):
        said = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "so be it", "annotations": []}]}
        usage = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
        return {"id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed", "model": Responses.model, "output": [said], "usage": usage, "echo": echo}

    @staticmethod
    def events(number, echo):
        whole = Responses.reply(number, "")
        yield "response.created", {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None, "echo": echo}}
        item = whole["output"][0]
        yield "response.output_item.added", {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": [], "status": "in_progress"}}
        delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": item["id"], "delta": "so be it"}
        yield "response.output_text.delta", delta
        yield "response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}
        yield "response.completed", {"type": "response.completed", "response": whole}

    @staticmethod
    def echo_in(event):
        return event.get("response", {}).get("echo")

    @staticmethod
    def calls_and_results(element):
        if element.get("type") == "function_call":
            yield element["call_id"], None
        if element.get("type") == "function_call_output":
            yield None, element["call_id"]

    @staticmethod
    def role_faults(_):
        return ()


PROTOCOLS = (Anthropic, Chat, Responses)


def protocol_at(path):
    return next(protocol for protocol in PROTOCOLS if path.startswith(protocol.path))


def stream_of(protocol, number, echo):
    """A reply as a stream of events."""
    for name, data in protocol.events(number, echo):
        head = f"event: {name}\n" if name else ""
        yield f"{head}data: {data if isinstance(data, str) else dumps(data)}\n\n"


def echo_of(protocol, answer, is_streamed):
    """What the provider was sent, as it gives it back."""
    if not is_streamed:
        return json.loads(answer)["echo"]
    events = (line[len("data: "):] for line in answer.decode().split("\n") if line.startswith("data: {"))
    return next(filter(None, (protocol.echo_in(json.loads(event)) for event in events)))
