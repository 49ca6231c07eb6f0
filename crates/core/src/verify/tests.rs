//! What a report says of tiny histories.
