"""Small agents, as people write them with the official SDKs."""

import anthropic
import openai

TOOL = {
    "name": "read_file",
    "description": "Reads a file of the project.",
    "schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
SYSTEM = "You are a careful engineer. Work step by step and say what you did."


def file_text(turn, words, lines):
    """What a tool finds: a text that is different in each turn."""
    found = (f"{turn:03}.{line:02} {words} is handled in step {line * 7 % 13} of module_{turn % 17}" for line in range(lines))
    return "\n".join(found)


class Agent:
    """Keeps its own history and calls its tool until the model is done."""

    def __init__(self, client, words):
        self.client, self.words, self.history, self.turns = client, words, [], 0
        self.lines = 14  # how much its tool finds

    @staticmethod
    def recording(library, sent):
        """An HTTP client that notes the body of each request."""
        note = lambda request: sent.append(request.content.decode())
        return library.DefaultHttpxClient(event_hooks={"request": [note]})

    def turn(self, streamed):
        """One turn, from what a person says to the model's last word."""
        self.turns += 1
        self.say(f"Task {self.turns}: look after {self.words} in src/part_{self.turns}.rs; never touch config.toml.")
        for _ in range(8):
            if not self.step(streamed):
                return
        raise AssertionError("the model calls tools without end")


class AnthropicAgent(Agent):
    """On Anthropic Messages, with thinking and a cache mark that moves."""

    MODEL = "claude-sonnet-4-5"

    def __init__(self, url, sent, words="the parser", key="sdk-test-key"):
        http = self.recording(anthropic, sent)
        super().__init__(anthropic.Anthropic(base_url=url, api_key=key, max_retries=0, http_client=http), words)

    def say(self, text):
        self.history.append({"role": "user", "content": [{"type": "text", "text": text}]})

    def request(self):
        messages = [dict(message) for message in self.history]
        newest = [dict(block) for block in messages[-1]["content"]]
        newest[-1]["cache_control"] = {"type": "ephemeral"}
        messages[-1]["content"] = newest
        return {
            "model": self.MODEL,
            "max_tokens": 2048,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": TOOL["name"], "description": TOOL["description"], "input_schema": TOOL["schema"]}],
            "messages": messages,
        }

    def step(self, streamed):
        if streamed:
            with self.client.messages.stream(**self.request()) as stream:
                reply = stream.get_final_message()
        else:
            reply = self.client.messages.create(**self.request())
        if reply.stop_reason == "model_context_window_exceeded":
            return True  # asks once more, as agents do; by then the window is known
        assert reply.usage.input_tokens >= 0 and reply.content, "a reply says something"
        self.history.append({"role": "assistant", "content": [part.model_dump(exclude_none=True) for part in reply.content]})
        calls = [part for part in reply.content if part.type == "tool_use"]
        if calls:
            text = file_text(self.turns, self.words, self.lines)
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call in calls]
            self.history.append({"role": "user", "content": results})
        return bool(calls)


class OpenaiAgent(Agent):
    """On OpenAI Chat Completions, with the system prompt in front of the messages."""

    MODEL = "gpt-5"

    def __init__(self, url, sent, words="the parser", key="sdk-test-key"):
        http = self.recording(openai, sent)
        super().__init__(openai.OpenAI(base_url=url + "/v1", api_key=key, max_retries=0, http_client=http), words)
        self.history.append({"role": "system", "content": SYSTEM})

    def say(self, text):
        self.history.append({"role": "user", "content": text})

    def request(self):
        function = {"name": TOOL["name"], "description": TOOL["description"], "parameters": TOOL["schema"]}
        return {
            "model": self.MODEL,
            "max_completion_tokens": 2048,
            "tools": [{"type": "function", "function": function}],
            # The SDK walks through typed messages one by one, a quarter of a second late in a long
            # session; given this way, the same body is sent without that walk.
            "messages": [],
            "extra_body": {"messages": self.history},
        }

    def step(self, streamed):
        message = self.streamed() if streamed else self.whole()
        self.history.append(message)
        calls = message.get("tool_calls", [])
        text = file_text(self.turns, self.words, self.lines)
        self.history += [{"role": "tool", "tool_call_id": call["id"], "content": text} for call in calls]
        return bool(calls)

    def whole(self):
        message = self.client.chat.completions.create(**self.request()).choices[0].message
        return message.model_dump(exclude_none=True)

    def streamed(self):
        message = {"role": "assistant", "content": "", "tool_calls": []}
        for chunk in self.client.chat.completions.create(**self.request(), stream=True):
            for choice in chunk.choices:
                message["content"] += choice.delta.content or ""
                for piece in choice.delta.tool_calls or []:
                    take_piece(message["tool_calls"], piece)
        assert message["content"] or message["tool_calls"], "a reply says something"
        return {key: value for key, value in message.items() if value}


class ResponsesAgent(Agent):
    """On OpenAI Responses, with reasoning that nobody stores: it sends every item again."""

    MODEL = "gpt-5"

    def __init__(self, url, sent, words="the parser", key="sdk-test-key"):
        http = self.recording(openai, sent)
        super().__init__(openai.OpenAI(base_url=url + "/v1", api_key=key, max_retries=0, http_client=http), words)

    def say(self, text):
        self.history.append({"role": "user", "content": text})

    def request(self):
        return {
            "model": self.MODEL,
            "max_output_tokens": 2048,
            "instructions": SYSTEM,
            "reasoning": {"effort": "low"},
            "tools": [{"type": "function", "name": TOOL["name"], "description": TOOL["description"], "parameters": TOOL["schema"]}],
            **self.said_before(),
        }

    def said_before(self):
        """How it tells what was said before; given this way, the SDK does not walk through it."""
        return {"store": False, "include": ["reasoning.encrypted_content"], "extra_body": {"input": self.history}}

    def step(self, streamed):
        reply = self.streamed() if streamed else self.client.responses.create(**self.request())
        assert reply.output and reply.usage.input_tokens > 0, "a reply says something, and what it took"
        self.take_up(reply)
        calls = [item for item in reply.output if item.type == "function_call"]
        text = file_text(self.turns, self.words, self.lines)
        self.history += [{"type": "function_call_output", "call_id": call.call_id, "output": text} for call in calls]
        return bool(calls)

    def take_up(self, reply):
        self.history += [item.model_dump(exclude_none=True) for item in reply.output]

    def streamed(self):
        for event in self.client.responses.create(**self.request(), stream=True):
            if event.type in ("response.completed", "response.incomplete"):
                return event.response
        raise AssertionError("the stream broke off")


class ChainedAgent(ResponsesAgent):
    """On OpenAI Responses, which stores what was said: it names the last response, and sends what is new."""

    previous = None

    def said_before(self):
        new, self.history = self.history, []
        named = {"previous_response_id": self.previous} if self.previous else {}
        return {**named, "extra_body": {"input": new}}

    def take_up(self, reply):
        self.previous = reply.id


def take_piece(calls, piece):
    """Adds one piece of a streamed call to those begun."""
    if piece.index == len(calls):
        calls.append({"id": piece.id, "type": "function", "function": {"name": piece.function.name, "arguments": ""}})
    calls[piece.index]["function"]["arguments"] += piece.function.arguments or ""
