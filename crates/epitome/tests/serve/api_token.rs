//! A token in front of the API: what it guards, and what stays as it is.

use crate::stage::{Speech, Stage, Talk, words};
use reqwest::Client;

const TOKEN: &str = "b1946ac92492d2347c6235b4";

#[test]
fn the_api_asks_for_the_token_that_was_set_and_conversations_do_not() {
    let stage = Stage::new("");
    let proxy = stage.serve(&["--window", "16000", "--api-token", TOKEN]);
    let mut talk = Talk::new(Speech::Anthropic, "claude-haiku-4-5").with("x-api-key", "a-clients-key");
    (0..24).for_each(|turn| talk.say(&proxy, &words(turn)));
    let client = Client::new();
    let status = |path: &str, token: Option<&str>| {
        let request = client.get(format!("{}{path}", proxy.address()));
        let request = token.into_iter().fold(request, |request, token| request.bearer_auth(token));
        stage.block_on(request.send()).expect("it answers").status().as_u16()
    };
    let paths = [
        "/api/v1/sessions",
        "/api/v1/stats",
        "/api/v1/endpoints",
        "/api/v1/checkpoints",
        "/api/v1/nowhere",
        "/metrics",
        "/healthz",
        "/readyz",
        "/",
    ];
    let guarded = [401, 401, 401, 401, 401, 401, 200, 200, 200];
    assert_eq!(paths.map(|path| status(path, None)), guarded);
    assert_eq!(paths.map(|path| status(path, Some("a1946ac92492d2347c6235b4"))), guarded);
    assert_eq!(paths.map(|path| status(path, Some(TOKEN))), [200, 200, 200, 200, 404, 200, 200, 200, 200]);
    let greeting = async { client.get(format!("{}/", proxy.address())).send().await?.text().await };
    assert!(
        stage.block_on(greeting).expect("it answers").contains("They ask for `Authorization: Bearer TOKEN`.")
    );
    // The model that reads a summary has no token, and is not told of an address that would ask it for one.
    let sent = stage.arrived().into_iter().next_back().expect("it was asked").into_iter();
    let sent: String = sent.map(|message| message["content"].to_string()).collect();
    assert!(sent.contains("epitome-summary") && !sent.contains("curl "), "{sent}");
    assert!(!sent.contains("recall m"), "{sent}");
    assert!(!stage.log().contains(TOKEN), "{}", stage.log());
}

#[test]
fn a_token_that_could_be_guessed_is_refused_at_the_start_and_not_said() {
    let stage = Stage::new("");
    let mut command = stage.command(&["serve", "--listen", "127.0.0.1:0", "--store", "memory"]);
    let ran = command.env("EPITOME_API_TOKEN", "hunter2\n").output().expect("it runs");
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{told}");
    assert!(told.contains("EPITOME_API_TOKEN"), "{told}");
    assert!(told.contains("a token of 7 characters is too short; take 16 or more"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
}
