//! What formats and providers allow and few agents do, said in a session.

use super::{Oddity, Session, words};
use epitome_core::{Author, Block, Call, CallId, Image, Message, Opaque, ResultPart, Role, ToolResult};

impl Session {
    pub(super) fn odd(&mut self, oddity: Oddity, size: usize) {
        let text = words("odd", size, self.history.len());
        match oddity {
            Oddity::ResultBesideText => {
                let call = self.calls_one("{}");
                let blocks = vec![answer(call, &text), Block::text("and mind this")];
                self.put(Message { role: Role::User, author: Author::Person, blocks });
            }
            Oddity::FailsWithPicture => {
                let call = self.calls_one("{}");
                let picture = Image { media_type: "image/png".into(), data: "AAAA".into(), is_url: false };
                let parts = vec![ResultPart::Text { text: text.into() }, ResultPart::Image(picture)];
                self.answers(Block::Result(ToolResult { call, parts, is_error: true }));
            }
            Oddity::Orphan => self.answers(answer(CallId::from("nobody"), &text)),
            Oddity::Late => {
                let call = self.calls_one("{}");
                self.put(Message::text(Role::Assistant, Author::Model, "while it runs"));
                self.answers(answer(call, &text));
            }
            Oddity::Reasons => {
                let json =
                    format!("{{\"type\":\"reasoning\",\"encrypted_content\":\"{}\"}}", "A".repeat(size));
                let sealed = Block::Opaque(Opaque { kind: "reasoning".into(), json: json.into() });
                let call = self.next_call();
                let made = Call { id: call.clone(), name: "run".into(), input: "{}".into(), freeform: false };
                let blocks = vec![sealed, Block::text("let me look"), Block::Call(made)];
                self.put(Message { role: Role::Assistant, author: Author::Model, blocks });
                self.answers(answer(call, "ok"));
            }
            Oddity::Scripts => {
                let letters = "Größe 漢字かな 👩\u{200d}🚀🇩🇪 ";
                let text = letters.repeat(1 + size / letters.len());
                self.put(Message::text(Role::User, Author::Person, text.clone()));
                let call = self.calls_one(&format!("{{\"command\":\"{letters}\"}}"));
                self.answers(answer(call, &text));
            }
            Oddity::Rules => {
                let rule = format!("Never touch src/main_{size}.rs. Order 4f2a-99c1 is 1,234.56 EUR. {text}");
                self.put(Message::text(Role::User, Author::Person, rule));
            }
            Oddity::Secret => {
                let key = format!("sk-ant-api03-{}", "Zx81kQp0vLm29TtYw44BbNc7");
                self.put(Message::text(Role::User, Author::Person, format!("the key is {key}. {text}")));
                let call = self.calls_one(&format!("{{\"command\":\"KEY={key} make\"}}"));
                self.answers(answer(call, &format!("API_KEY={key} {text}")));
            }
            Oddity::Todos => {
                let list = format!("{{\"todos\":[{{\"content\":\"step {size}\",\"status\":\"pending\"}}]}}");
                let call = self.next_call();
                let made =
                    Call { id: call.clone(), name: "TodoWrite".into(), input: list.into(), freeform: false };
                let blocks = vec![Block::Call(made)];
                self.put(Message { role: Role::Assistant, author: Author::Model, blocks });
                self.answers(answer(call, "ok"));
            }
        }
    }

    fn calls_one(&mut self, input: &str) -> CallId {
        let call = self.next_call();
        let made = Call { id: call.clone(), name: "run".into(), input: input.into(), freeform: false };
        let blocks = vec![Block::Call(made)];
        self.put(Message { role: Role::Assistant, author: Author::Model, blocks });
        call
    }

    fn answers(&mut self, block: Block) {
        self.put(Message { role: Role::Tool, author: Author::Tool, blocks: vec![block] });
    }
}

fn answer(call: CallId, text: &str) -> Block {
    let parts = vec![ResultPart::Text { text: text.into() }];
    Block::Result(ToolResult { call, parts, is_error: false })
}
