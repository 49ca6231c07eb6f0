//! What is said in a session: by people, the model, its tools and the harness, in every form that providers take.

use crate::World;
use epitome_core::{
    Author, Block, Call, CallId, Image, Message, Opaque, ResultPart, Role, Tokens, ToolResult,
};
use epitome_engine::LookPoint;

/// Letters that no byte may be cut out of.
const SCRIPTS: &str = "Größe 漢字かな 👩\u{200d}🚀🇩🇪 ";

impl World {
    /// Someone speaks, or the model works with tools.
    pub(crate) fn say_something(&mut self) {
        let text = self.some_text();
        match self.dice.below(10) {
            0..4 => self.person(&text),
            4 | 5 => {
                self.bed.harness(&text);
            }
            _ => self.exchange(&text),
        }
    }

    /// The model answers; what that takes.
    pub(crate) fn answer(&mut self) -> u64 {
        let tokens = 2 + self.dice.below(200);
        let said = Block::text(self.bed.filler(tokens));
        let mut blocks = self.thought();
        blocks.push(said);
        self.bed.say(Message { role: Role::Assistant, author: Author::Model, blocks });
        tokens
    }

    /// A text of any size: mostly small beside the window, now and then half of it.
    fn some_text(&mut self) -> String {
        let window = self.bed.session.budget().window.0;
        let size = match self.dice.below(20) {
            0 => window / 2,
            1..8 => window / 8,
            _ => window / 40,
        };
        let tokens = 2 + self.dice.below(size);
        if self.dice.below(8) == 0 {
            let bytes = tokens as usize * 4;
            return SCRIPTS.repeat(1 + bytes / SCRIPTS.len());
        }
        self.bed.filler(tokens)
    }

    /// A person speaks, after what is done before their input; now and then with a picture or a document.
    fn person(&mut self, text: &str) {
        self.prepare_at(LookPoint::Input(Tokens(text.len().div_ceil(4) as u64)));
        self.bed.session.begin_turn();
        let mut blocks = vec![Block::text(text)];
        match self.dice.below(16) {
            0 => blocks.push(Block::Image(picture())),
            1 => blocks.push(Block::Opaque(Opaque {
                kind: "document".into(),
                json: r#"{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}}"#
                    .into(),
            })),
            _ => {}
        }
        self.bed.say(Message { role: Role::User, author: Author::Person, blocks });
    }

    /// Thinking in front of a reply, now and then.
    fn thought(&mut self) -> Vec<Block> {
        match self.dice.below(6) {
            0 => vec![Block::Thinking {
                text: "hm, let me see ".repeat(20).into(),
                signature: Some("seal".into()),
                redacted: false,
            }],
            1 => vec![Block::Opaque(Opaque {
                kind: "reasoning".into(),
                json: format!(r#"{{"type":"reasoning","encrypted_content":"{}"}}"#, "A".repeat(200)).into(),
            })],
            _ => Vec::new(),
        }
    }

    /// The model calls one to three tools, which answer together or one by one.
    fn exchange(&mut self, text: &str) {
        let calls = self.call();
        let answers: Vec<Block> = calls
            .into_iter()
            .enumerate()
            .map(|(at, call)| self.result(call, if at == 0 { text } else { "ok" }))
            .collect();
        self.answers(answers);
    }

    /// Something happens while tools are at work, and only then they answer.
    pub(crate) fn interrupted_exchange(&mut self) {
        let calls = self.call();
        self.seen.push("an open exchange");
        self.check_derived();
        self.something_else();
        self.check_derived();
        let answers = calls.into_iter().map(|call| self.result(call, "at last")).collect();
        self.answers(answers);
    }

    /// The model calls tools.
    fn call(&mut self) -> Vec<CallId> {
        let mut blocks = self.thought();
        if self.dice.below(3) == 0 {
            blocks.push(Block::text("let me look"));
        }
        let mut ids = Vec::new();
        for _ in 0..1 + self.dice.below(6) / 4 + self.dice.below(4) / 3 {
            self.calls += 1;
            let id = CallId::from(format!("call-{}", self.calls).as_str());
            let input = r#"{"path":"src/main.rs"}"#.into();
            blocks.push(Block::Call(Call { id: id.clone(), name: "read".into(), input, freeform: false }));
            ids.push(id);
        }
        self.bed.say(Message { role: Role::Assistant, author: Author::Model, blocks });
        ids
    }

    fn result(&mut self, call: CallId, text: &str) -> Block {
        let mut parts = vec![ResultPart::Text { text: text.into() }];
        if self.dice.below(12) == 0 {
            parts.push(ResultPart::Image(picture()));
        }
        Block::Result(ToolResult { call, parts, is_error: self.dice.below(8) == 0 })
    }

    /// Results come in one message or in several; now and then beside a person's words.
    fn answers(&mut self, answers: Vec<Block>) {
        match self.dice.below(8) {
            0 => {
                let mut blocks = answers;
                blocks.push(Block::text("and mind the tests"));
                self.bed.say(Message { role: Role::User, author: Author::Person, blocks });
            }
            1..4 => answers.into_iter().for_each(|answer| self.tool(vec![answer])),
            _ => self.tool(answers),
        }
    }

    fn tool(&mut self, blocks: Vec<Block>) {
        self.bed.say(Message { role: Role::Tool, author: Author::Tool, blocks });
    }
}

fn picture() -> Image {
    Image { media_type: "image/png".into(), data: "AAAA".into(), is_url: false }
}
