//! The bodies of each provider's overflow error.

use super::Overflow;
use serde_json::{Value, json};

/// The page of a web server that counts bytes.
pub(super) const NGINX_PAGE: &str = "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n\
    <body>\r\n<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n\
    </body>\r\n</html>\r\n";

/// The message alone, for the providers whose errors have the usual shape.
impl Overflow<'_> {
    pub(super) fn anthropic_text(&self) -> String {
        format!("prompt is too long: {} tokens > {} maximum", self.prompt, self.window)
    }

    pub(super) fn reserve_text(&self) -> String {
        format!(
            "input length and `max_tokens` exceed context limit: {} + {} > {}, decrease input length or \
             `max_tokens` and try again",
            self.prompt, self.output, self.window
        )
    }

    pub(super) fn chat_text(&self) -> String {
        format!(
            "This model's maximum context length is {} tokens. However, your messages resulted in {} tokens. \
             Please reduce the length of the messages.",
            self.window, self.prompt
        )
    }

    pub(super) fn input_text(&self) -> String {
        format!(
            "Input tokens exceed the configured limit of {} tokens. Your messages resulted in {} tokens. \
             Please reduce the length of the messages.",
            self.window, self.prompt
        )
    }
}

/// Whole bodies, where a provider has a shape of its own.
impl Overflow<'_> {
    /// One request over a limit per minute.
    pub(super) fn rate(&self, unit: &str) -> Value {
        let message = format!(
            "Request too large for model `{}` in organization org-scripted on {unit}: Limit {}, \
             Requested {}. Please reduce your message size and try again.",
            self.model, self.window, self.prompt
        );
        json!({"error": {"message": message, "type": "tokens", "param": null, "code": "rate_limit_exceeded"}})
    }

    pub(super) fn bedrock() -> Value {
        json!({"__type": "ValidationException", "message": "Input is too long for requested model."})
    }

    /// In a list where a stream was asked for.
    pub(super) fn gemini(&self) -> Value {
        let message = format!(
            "The input token count ({}) exceeds the maximum number of tokens allowed ({}).",
            self.prompt, self.window
        );
        let body = json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}});
        if self.is_streamed { json!([body]) } else { body }
    }

    pub(super) fn litellm(&self) -> Value {
        let message = format!("litellm.ContextWindowExceededError: OpenAIException - {}", self.chat_text());
        json!({"error": {"message": message, "type": null, "param": null, "code": "400"}})
    }

    pub(super) fn llama_cpp(&self) -> Value {
        let message = format!(
            "request ({} tokens) exceeds the available context size ({} tokens), try increasing it",
            self.prompt, self.window
        );
        json!({"error": {
            "code": 400,
            "message": message,
            "type": "exceed_context_size_error",
            "n_prompt_tokens": self.prompt,
            "n_ctx": self.window,
        }})
    }

    pub(super) fn lm_studio(&self) -> Value {
        json!({"error": format!(
            "The number of tokens to keep from the initial prompt is greater than the context length \
             (n_keep: {} >= n_ctx: {}).",
            self.prompt, self.window
        )})
    }

    pub(super) fn mistral(&self) -> Value {
        let message = format!(
            "Prompt contains {} tokens and 0 draft tokens, too large for model with {} maximum context \
             length",
            self.prompt, self.window
        );
        json!({"object": "error", "message": message, "type": "invalid_request_error", "code": "3051"})
    }

    pub(super) fn ollama(&self) -> Value {
        let over = self.prompt.saturating_sub(self.window);
        json!({"error": format!(
            "prompt is longer than the context length: exceeded max context length by {over} tokens"
        )})
    }

    pub(super) fn openrouter(&self) -> Value {
        let Self { prompt, window, output, .. } = self;
        let message = format!(
            "This endpoint's maximum context length is {window} tokens. However, you requested about {} \
             tokens ({prompt} of text input, {output} in the output). Please reduce the length of either \
             one.",
            prompt + output
        );
        json!({"error": {"message": message, "code": 400, "metadata": {"provider_name": "Scripted"}}})
    }

    pub(super) fn vllm(&self) -> Value {
        let Self { prompt, window, output, .. } = self;
        let message = format!(
            "This model's maximum context length is {window} tokens. However, you requested {output} output \
             tokens and your prompt contains at least {prompt} input tokens, for a total of at least {} \
             tokens.",
            prompt + output
        );
        json!({"error": {
            "message": message, "type": "BadRequestError", "param": "input_tokens", "code": 400,
        }})
    }

    pub(super) fn xai(&self) -> Value {
        json!({"code": "invalid-argument", "error": format!(
            "This model's maximum prompt length is {} but the request contains {} tokens.",
            self.window, self.prompt
        )})
    }
}
