//! The table of errors, row by row.

use crate::{IntoNumber, cases};

cases! {
    row_1_anthropic_input: 400 r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210001 tokens > 200000 maximum"}}"#
        => TokenOverflow { requested: 210_001, window: 200_000 };
    row_2_anthropic_input_and_output: 400 r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again"}}"#
        => OutputReserve { requested: 190_000, output: 20_000, window: 200_000 };
    row_3_anthropic_bytes: 413 r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#
        => PayloadBytes {};
    row_5_anthropic_image_side: 400 r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0.image.source.base64: At least one of the image dimensions exceed max allowed size: 8000 pixels"}}"#
        => Media { pixels_max: 8_000 };
    row_6_anthropic_many_images: 400 r#"{"type":"error","error":{"type":"invalid_request_error","message":"At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}"#
        => Media { pixels_max: 2_000 };
    row_7_anthropic_binding: 400 r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.3.content.0: Invalid signature in thinking block: it is bound to a different conversation"}}"#
        => ThinkingBinding {};
    row_8_openai_chat: 400 r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130501 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#
        => TokenOverflow { window: 128_000, requested: 130_501 };
    row_8_openai_chat_with_its_output: 400 r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8500 in the messages, 500 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#
        => TokenOverflow { window: 8_192, requested: 8_500, output: 500 };
    row_8_openai_chat_whose_prompt_fits: 400 r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (5000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#
        => OutputReserve { window: 8_192, requested: 5_000, output: 4_000 };
    row_9_openai_input_limit: 400 r#"{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 290012 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#
        => TokenOverflow { input_max: 272_000, requested: 290_012 };
    row_10_openai_responses: 400 r#"{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#
        => TokenOverflow {};
    row_10_openai_responses_failed: 400 r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}"#
        => TokenOverflow {};
    row_11_openai_size_by_rate: 429 r#"{"error":{"message":"Request too large for gpt-x in organization org-1 on tokens per min (TPM): Limit 30000, Requested 45120. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#
        => SizeRate { rate: 30_000, requested: 45_120 };
    row_12_azure_model_error: 400 r#"{"error":{"message":"This model's maximum context length is 16385 tokens. However, your messages resulted in 20000 tokens.","type":"model_error"}}"#
        => TokenOverflow { window: 16_385, requested: 20_000 };
    row_12_azure_gateway: 400 r#"{"object":"error","message":"This model's maximum context length is 32768 tokens.","code":40303}"#
        => TokenOverflow { window: 32_768 };
    row_13_bedrock: 400 r#"{"__type":"ValidationException","message":"Input is too long for requested model."}"#
        => TokenOverflow {};
    row_14_bedrock_claude: 400 r#"{"message":"The model returned the following errors: prompt is too long: 205,118 tokens > 199,999 maximum","__type":"ValidationException"}"#
        => TokenOverflow { requested: 205_118, window: 199_999 };
    row_15_bedrock_too_many_input_tokens: 400 r#"{"__type":"ValidationException","message":"Too many input tokens. Max input tokens exceeded."}"#
        => TokenOverflow {};
    row_15_bedrock_bytes: 400 r#"{"__type":"ValidationException","message":"Too many total text bytes: 30000000"}"#
        => PayloadBytes {};
    row_15_bedrock_max_length: 400 r#"{"__type":"ValidationException","message":"Malformed input request: expected maxLength: 20000, actual: 30000, please reformat your input and try again."}"#
        => TokenOverflow {};
    row_17_gemini: 400 r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#
        => TokenOverflow { requested: 1_200_000, window: 1_048_576 };
    row_17_gemini_without_its_count: 400 r#"{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#
        => TokenOverflow { window: 1_048_576 };
    row_18_vertex: 400 r#"{"error":{"code":400,"message":"Request payload size exceeds the limit: 524288000 bytes.","status":"INVALID_ARGUMENT"}}"#
        => PayloadBytes {};
    row_19_openrouter: 400 r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (140000 of text input). Please reduce the length of either one.","code":400,"metadata":{"provider_name":"x"}}}"#
        => TokenOverflow { window: 131_072, requested: 140_000 };
    row_19_openrouter_whose_prompt_fits: 400 r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (100000 of text input, 40000 in the output). Please reduce the length of either one.","code":400,"metadata":{"provider_name":"x"}}}"#
        => OutputReserve { window: 131_072, requested: 100_000, output: 40_000 };
    row_19_openrouter_raw: 400 r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This model's maximum context length is 65536 tokens. However, you requested 70000 tokens.\"}}","provider_name":"x"}}}"#
        => TokenOverflow { window: 65_536, requested: 70_000 };
    row_20_poolside: 400 r#"{"error":{"message":"The request exceeds the maximum allowed input length of 131072"}}"#
        => TokenOverflow { input_max: 131_072 };
    row_21_groq: 400 r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#
        => TokenOverflow {};
    row_22_groq_size_by_rate: 413 r#"{"error":{"message":"Request too large for model `llama-x` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 8120, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#
        => SizeRate { rate: 6_000, requested: 8_120 };
    row_23_mistral: 400 r#"{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_message_order","code":null}"#
        => TokenOverflow { requested: 40_000, window: 32_768 };
    row_23_mistral_input_too_large: 400 r#"{"message":"input too large"}"#
        => TokenOverflow {};
    row_25_xai: 400 r#"{"code":"invalid-argument","error":"This model's maximum prompt length is 131072 but the request contains 150000 tokens."}"#
        => TokenOverflow { window: 131_072, requested: 150_000 };
    row_26_xai_new_wording: 400 r#"{"code":"INVALID_ARGUMENT","message":"[input_too_large] the rendered prompt (300000 tokens) exceeds budget (256000 tokens)"}"#
        => TokenOverflow { requested: 300_000, window: 256_000 };
    row_27_deepseek: 400 r#"{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70912 tokens (68912 in the messages, 2000 in the completion).","type":"invalid_request_error"}}"#
        => TokenOverflow { window: 65_536, requested: 68_912, output: 2_000 };
    row_28_moonshot: 400 r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 270000)"}}"#
        => TokenOverflow { window: 262_144, requested: 270_000 };
    row_29_minimax: 400 r#"{"error":{"message":"Connection error: invalid params, context window exceeds limit (2013)"}}"#
        => TokenOverflow {};
    row_30_cerebras: 413 r#"{"message":"Please reduce the length of the messages or input. Current length is 70000 while limit is 65536","type":"invalid_request_error","param":"messages"}"#
        => TokenOverflow { requested: 70_000, window: 65_536 };
    row_32_together: 422 r#"{"error":{"message":"Input validation error: the prompt (9000 tokens) is longer than the model's context length (8193 tokens)."}}"#
        => TokenOverflow { requested: 9_000, window: 8_193 };
    row_33_tgi: 422 r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens and 512 `max_new_tokens`","error_type":"validation"}"#
        => OutputReserve { window: 8_193, requested: 8_000, output: 512 };
    row_34_dashscope: 400 r#"{"error":{"code":"invalid_parameter_error","message":"Range of input length should be [1, 129024]"}}"#
        => TokenOverflow { input_max: 129_024 };
    row_35_copilot: 400 r#"{"error":{"message":"prompt token count of 140000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}"#
        => TokenOverflow { requested: 140_000, input_max: 128_000 };
    row_38_vllm_whose_prompt_fits: 400 r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 1000 output tokens and your prompt contains 3500 input tokens, for a total of 4500 tokens.","type":"BadRequestError","param":"input_tokens","code":400}}"#
        => OutputReserve { window: 4_096, output: 1_000, requested: 3_500 };
    row_38_vllm_whose_prompt_does_not_fit: 400 r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 0 output tokens and your prompt contains at least 4097 input tokens, for a total of at least 4097 tokens.","type":"BadRequestError","param":"input_tokens","code":400}}"#
        => TokenOverflow { window: 4_096, output: 0, requested: 4_097 };
    row_39_vllm: 400 r#"{"object":"error","message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","type":"BadRequestError","param":"input_text","code":400}"#
        => TokenOverflow { requested: 5_000, window: 4_096 };
    row_40_sglang: 400 r#"{"object":"error","message":"Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 36000 tokens from the input messages and 4000 tokens for the completion.","type":"BadRequestError","code":400}"#
        => TokenOverflow { window: 32_768, requested: 36_000, output: 4_000 };
    row_41_llama_cpp: 400 r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}"#
        => TokenOverflow { requested: 5_000, window: 4_096 };
    row_41_llama_cpp_older: 500 r#"{"error":{"code":500,"message":"the request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"server_error"}}"#
        => TokenOverflow { requested: 5_000, window: 4_096 };
    row_41_llama_cpp_larger: 500 r#"{"error":{"code":500,"message":"input (5000 tokens) is larger than the max context size (4096 tokens). skipping","type":"server_error"}}"#
        => TokenOverflow { window: 4_096 };
    row_42_ds4: 400 r#"{"error":{"message":"prompt has 9000 tokens but the configured context size is 8192"}}"#
        => TokenOverflow { requested: 9_000, window: 8_192 };
    row_43_ollama: 400 r#"{"error":"prompt too long; exceeded max context length by 512 tokens"}"#
        => TokenOverflow { over: 512 };
    row_43_ollama_input_length: 400 r#"{"error":"the input length exceeds the context length"}"#
        => TokenOverflow {};
    row_43_ollama_prompt: 400 r#"{"error":"prompt is longer than the context length"}"#
        => TokenOverflow {};
    row_43_ollama_filled: 400 r#"{"error":"prompt filled the context window"}"#
        => TokenOverflow {};
    row_45_lm_studio: 400 r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9000 >= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."}"#
        => TokenOverflow { requested: 9_000, window: 4_096 };
    row_45_lm_studio_loaded: 400 r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}"#
        => TokenOverflow { window: 4_096 };
    row_46_lm_studio_newer: 400 r#"{"error":{"message":"Context size has been exceeded."}}"#
        => TokenOverflow {};
    row_47_litellm: 503 r#"{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 210001 tokens > 200000 maximum\"}}. Received Model Group=claude","type":null,"param":null,"code":"400"}}"#
        => TokenOverflow { requested: 210_001, window: 200_000 };
    row_47_litellm_alone: 400 r#"{"error":{"message":"litellm.ContextWindowExceededError: the request did not fit","type":null,"param":null,"code":"400"}}"#
        => TokenOverflow {};
    row_48_gateway_contract: 400 r#"{"type":"error","error":{"type":"invalid_request_error","message":"capability_rejected: prompt_too_long"}}"#
        => TokenOverflow {};
    row_49_nginx: 413 "<html><head><title>413 Request Entity Too Large</title></head><body><center><h1>413 Request Entity Too Large</h1></center></body></html>"
        => PayloadBytes {};
    row_49_cdn: 413 "Payload Too Large"
        => PayloadBytes {};
    row_50_small_gateway: 413 r#"{"error":{"message":"Request exceeds the maximum size of 4 MB"}}"#
        => PayloadBytes { megabytes_max: 4 };
    row_51_github_models: 413 r#"{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-x model. Max size: 8000 tokens.","details":"Request body too large for gpt-x model. Max size: 8000 tokens."}}"#
        => TokenOverflow { input_max: 8_000 };
    row_51_github_models_429: 429 r#"{"error":{"message":"Request body too large for gpt-x model. Max size: 8000 tokens."}}"#
        => TokenOverflow { input_max: 8_000 };
    row_52_code_alone: 400 r#"{"error":{"code":"context_length_exceeded","message":"no"}}"#
        => TokenOverflow {};
    row_52_prompt_tokens_code: 422 r#"{"error":{"code":"model_max_prompt_tokens_exceeded","message":"no"}}"#
        => TokenOverflow {};
    row_52_token_limit: 400 r#"{"detail":"Token limit exceeded"}"#
        => TokenOverflow {};
    row_52_requested_tokens: 400 r#"{"error":{"message":"Requested tokens (5000) exceed context window of 4096"}}"#
        => TokenOverflow { requested: 5_000, window: 4_096 };
    row_52_prompt_too_long: 422 r#"{"detail":[{"loc":["body"],"msg":"prompt too long for this context"}]}"#
        => TokenOverflow {};
    row_53_undecryptable: 400 r#"{"error":{"message":"The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error","code":"invalid_encrypted_content"}}"#
        => Undecryptable {};
}
