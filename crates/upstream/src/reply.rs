//! What the model is made to say, before any protocol writes it down.

use epitome_core::Block;
use epitome_tokens::Counter;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) parts: Vec<ReplyBlock>,
    pub(crate) stop: Stop,
}

/// A piece of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReplyBlock {
    /// Reasoning, sealed.
    Thinking { text: String, seal: String },
    /// Words.
    Text(String),
    /// A call; `input` is a JSON object as text.
    Call { id: String, name: String, input: String },
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It was done.
    End,
    /// It waits for its calls.
    Calls,
    /// The limit the client set.
    Length,
    /// The window is full.
    Window,
    /// The same, as Mistral says it.
    ModelLength,
}

impl Reply {
    /// A reply of words alone.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![ReplyBlock::Text(text.into())], stop: Stop::End }
    }

    /// What it takes, and how much of it is reasoning.
    pub(crate) fn tokens(&self, counter: &Counter) -> (u64, u64) {
        let (mut all, mut reasoning) = (0, 0);
        for part in &self.parts {
            let tokens = part.tokens(counter);
            all += tokens;
            reasoning += if matches!(part, ReplyBlock::Thinking { .. }) { tokens } else { 0 };
        }
        (all, reasoning)
    }

    /// This reply within `tokens_max`: what comes later is cut, and then it ended for `stop`.
    pub(crate) fn within(mut self, tokens_max: u64, stop: Stop, counter: &Counter) -> Self {
        let mut room = tokens_max;
        for (at, part) in self.parts.iter_mut().enumerate() {
            let tokens = part.tokens(counter);
            if tokens <= room {
                room -= tokens;
                continue;
            }
            let is_left = part.shorten(room, counter);
            self.parts.truncate(at + usize::from(is_left));
            self.stop = stop;
            break;
        }
        self
    }
}

impl ReplyBlock {
    fn tokens(&self, counter: &Counter) -> u64 {
        match self {
            Self::Thinking { text, .. } | Self::Text(text) => counter.count_text(text),
            Self::Call { name, input, .. } => {
                counter.count_text(name) + counter.count_json(input) + counter.framing().call_tokens
            }
        }
    }

    /// Cuts a text to its room. A call or sealed reasoning has no half: false says to leave it out.
    fn shorten(&mut self, room: u64, counter: &Counter) -> bool {
        match self {
            Self::Text(text) => {
                *text = counter.take_prefix(text, room).to_owned();
                !text.trim().is_empty()
            }
            Self::Thinking { .. } | Self::Call { .. } => false,
        }
    }

    /// The words, where it is words.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Thinking { .. } | Self::Call { .. } => None,
        }
    }

    /// The reasoning, where it is that.
    pub(crate) fn as_thought(&self) -> Option<&str> {
        match self {
            Self::Thinking { text, .. } => Some(text),
            Self::Text(_) | Self::Call { .. } => None,
        }
    }

    /// A recorded block as it was said; none for what only its own provider can write.
    pub(crate) fn of(block: &Block) -> Option<Self> {
        match block {
            Block::Text { text } => Some(Self::Text(text.to_string())),
            Block::Thinking { text, signature: Some(seal), redacted: false } if !seal.is_empty() => {
                Some(Self::Thinking { text: text.to_string(), seal: seal.to_string() })
            }
            Block::Call(call) => Some(Self::Call {
                id: call.id.0.to_string(),
                name: call.name.to_string(),
                input: object_text(&call.input),
            }),
            Block::Thinking { .. } | Block::Result(_) | Block::Image(_) | Block::Opaque(_) => None,
        }
    }
}

/// Arguments as an object: free text becomes the one field of one.
fn object_text(input: &str) -> String {
    let is_object = serde_json::from_str::<serde_json::Value>(input).is_ok_and(|value| value.is_object());
    if is_object { input.to_owned() } else { serde_json::json!({"input": input}).to_string() }
}
