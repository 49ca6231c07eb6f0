//! A path that the store knows and this process does not: after a restart, or where another replica has worked on it. Where its
//! messages stand in the client's list follows from the hashes that led to them.

use crate::view::Origin;
use epitome_core::{EntryId, Log};
use epitome_engine::store::MessageLocation;
use epitome_wire::protocol::ElementPart;
use std::collections::HashMap;

/// Where each message of the path up to `leaf` stands, by where the hash of each element leads; none where that does not add up.
pub(crate) fn origins(
    log: &Log,
    leaf: EntryId,
    traced: &[Option<MessageLocation>],
) -> Option<Vec<(EntryId, Origin)>> {
    let ends: HashMap<EntryId, usize> = traced
        .iter()
        .enumerate()
        .filter_map(|(element, place)| place.map(|place| (place.entry, element)))
        .collect();
    let path = log.path_of(Some(leaf)).into_iter().filter(|&id| log.item(id).is_some());
    let (mut origins, mut waiting) = (Vec::new(), Vec::new());
    for id in path {
        waiting.push(id);
        // An element is said by the messages up to the one that its hash leads to; elements whose hashes lead nowhere
        // are said with the next one whose does. Of what is superseded the log may hold nothing.
        let Some(&last) = ends.get(&id) else { continue };
        let element = traced[..last].iter().rposition(Option::is_some).map_or(0, |before| before + 1);
        let count = last + 1 - element;
        let parts: &[ElementPart] = match waiting.len() {
            1 => &[ElementPart::All],
            2 => &[ElementPart::Results, ElementPart::Said],
            _ => return None,
        };
        let origin = |part: &ElementPart| Origin { element, count, part: *part };
        origins.extend(waiting.drain(..).zip(parts).map(|(id, part)| (id, origin(part))));
    }
    waiting.is_empty().then_some(origins)
}

#[cfg(test)]
mod tests {
    use super::origins;
    use crate::view::Origin;
    use epitome_core::{Author, Entry, EntryId, Item, Log, Message, Role};
    use epitome_engine::store::{MessageLocation, SessionId};
    use epitome_wire::protocol::ElementPart;

    fn path(count: usize) -> Log {
        let mut log = Log::default();
        for _ in 0..count {
            log.push(Entry::Message(Item::of(&Message::text(Role::User, Author::Person, "said"))));
        }
        log
    }

    fn leads_to(entry: u32, depth: usize) -> Option<MessageLocation> {
        Some(MessageLocation { session: SessionId(1), entry: EntryId(entry), depth })
    }

    #[test]
    fn two_messages_of_one_element_are_its_results_and_what_was_said_beside_them() {
        let traced = [leads_to(0, 1), leads_to(2, 2), leads_to(3, 3)];
        let found = origins(&path(4), EntryId(3), &traced).expect("it adds up");
        let origin = |element, part| Origin { element, count: 1, part };
        let expected = [
            (EntryId(0), origin(0, ElementPart::All)),
            (EntryId(1), origin(1, ElementPart::Results)),
            (EntryId(2), origin(1, ElementPart::Said)),
            (EntryId(3), origin(2, ElementPart::All)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn items_whose_hashes_lead_nowhere_are_said_with_the_next_one() {
        let traced = [leads_to(0, 1), None, None, leads_to(1, 4), leads_to(2, 5)];
        let found = origins(&path(3), EntryId(2), &traced).expect("it adds up");
        let origin = |element, count| Origin { element, count, part: ElementPart::All };
        let expected = [(EntryId(0), origin(0, 1)), (EntryId(1), origin(1, 3)), (EntryId(2), origin(4, 1))];
        assert_eq!(found, expected);
    }

    #[test]
    fn elements_of_messages_that_the_log_does_not_hold_are_nobody_elses() {
        let traced = [leads_to(0, 1), leads_to(7, 2), None, leads_to(8, 4), None, leads_to(1, 6)];
        let found = origins(&path(2), EntryId(1), &traced).expect("it adds up");
        let origin = |element, count| Origin { element, count, part: ElementPart::All };
        assert_eq!(found, [(EntryId(0), origin(0, 1)), (EntryId(1), origin(4, 2))]);
    }

    #[test]
    fn what_does_not_add_up_is_no_path_of_the_request() {
        assert_eq!(
            origins(&path(4), EntryId(3), &[leads_to(0, 1), leads_to(3, 2)]),
            None,
            "three in one element"
        );
        assert_eq!(origins(&path(2), EntryId(1), &[leads_to(0, 1), None]), None, "nothing leads to the last");
    }
}
