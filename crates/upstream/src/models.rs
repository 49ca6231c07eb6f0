//! The list of models, as each provider gives it.

use crate::write::CREATED;
use epitome_tokens::{Catalog, Vendor};
use epitome_wire::Protocol;
use serde_json::{Value, json};

/// When every model claims to have been made; the same moment as `CREATED`.
const CREATED_AT: &str = "2026-01-01T00:00:00Z";

/// The provider's models, or the one asked for.
pub(crate) fn list(protocol: Protocol, id: Option<&str>) -> Value {
    if let Some(id) = id {
        return entry(protocol, id);
    }
    let of = match protocol {
        Protocol::Anthropic => Vendor::Anthropic,
        Protocol::OpenaiChat | Protocol::OpenaiResponses => Vendor::Openai,
    };
    let models = Catalog::built_in().models().iter().filter(|model| model.provider == of);
    let data: Vec<Value> = models.map(|model| entry(protocol, &model.id)).collect();
    match protocol {
        Protocol::Anthropic => {
            let (first, last) =
                (data.first().map(|model| &model["id"]), data.last().map(|model| &model["id"]));
            json!({"data": data, "has_more": false, "first_id": first, "last_id": last})
        }
        Protocol::OpenaiChat | Protocol::OpenaiResponses => json!({"object": "list", "data": data}),
    }
}

fn entry(protocol: Protocol, id: &str) -> Value {
    match protocol {
        Protocol::Anthropic => {
            let model = Catalog::built_in().find(id);
            json!({
                "type": "model",
                "id": id,
                "display_name": id,
                "created_at": CREATED_AT,
                "max_input_tokens": model.window_tokens.value,
                "max_tokens": model.output_tokens_max.map(|output| output.value),
            })
        }
        Protocol::OpenaiChat | Protocol::OpenaiResponses => {
            json!({"id": id, "object": "model", "created": CREATED, "owned_by": "scripted"})
        }
    }
}
