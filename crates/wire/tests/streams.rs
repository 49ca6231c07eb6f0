//! Streams of any bytes in any pieces: always an answer, and the same one however they are split.

use epitome_wire::Protocol;
use epitome_wire::protocol::ModelReply;
use epitome_wire::sse::{Assembler, Events};
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

/// Pieces of streams of all protocols, whole and broken.
const PIECES: [&str; 18] = [
    "event: message_start\n",
    "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"a\"}}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{}}}\r\n\r\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"ü\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\"}}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":9,\"id\":\"c\",\"function\":{\"name\":\"n\",\"arguments\":\"{\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"c\"}]},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\"}}\n\n",
    "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"d\"}\n\n",
    "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n",
    "data: {\"type\":\"error\",\"error\":{\"message\":\"no\"}}\n\n",
    ": a comment\r",
    "data: {\"type\":",
];

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(PIECES.to_vec()).prop_map(|piece| piece.as_bytes().to_vec());
    let noise = prop::collection::vec(any::<u8>(), 0..12);
    prop::collection::vec(prop_oneof![8 => piece, 1 => noise], 0..14).prop_map(|pieces| pieces.concat())
}

fn protocol() -> impl Strategy<Value = Protocol> {
    prop::sample::select(vec![Protocol::Anthropic, Protocol::OpenaiChat, Protocol::OpenaiResponses])
}

fn assembled(protocol: Protocol, bytes: &[u8], size: usize) -> ModelReply {
    let mut assembler = Assembler::new(protocol);
    bytes.chunks(size).for_each(|piece| assembler.push(piece));
    assembler.finish()
}

proptest! {
    #[test]
    fn a_stream_means_the_same_however_it_is_split(protocol in protocol(), bytes in bytes(), size in 1_usize..40) {
        let answer = assembled(protocol, &bytes, usize::MAX);
        prop_assert_eq!(assembled(protocol, &bytes, size), answer.clone());
        prop_assert!(!(answer.is_whole && answer.error.is_some()), "an answer with an error is not whole: {:?}", answer);
    }

    #[test]
    fn events_come_out_in_order_however_they_are_split(bytes in bytes(), size in 1_usize..40) {
        let parse = |size: usize| {
            let mut events = Events::default();
            let mut all: Vec<_> = bytes.chunks(size).flat_map(|piece| events.push(piece)).collect();
            all.extend(events.finish());
            all
        };
        prop_assert_eq!(parse(size), parse(usize::MAX));
    }
}
