//! Encrypted connections: to a server whose certificate is trusted, and to no other.

use super::{begin, open, saying};
use epitome_engine::store::Store as _;
use epitome_store::PostgresStore;
use epitome_testbed::TestPostgres;
use std::path::Path;
use std::process::Command;

/// Runs something, and it must succeed.
fn run(program: &str, args: &[&str]) {
    let done = Command::new(program).args(args).output().expect("it can be started");
    assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A certificate for this machine and its key, which the server reads as another user where the test is run by root.
fn certify(folder: &Path) -> (String, String) {
    let path = |name: &str| folder.join(name).display().to_string();
    let (certificate, key) = (path("server.pem"), path("server.key"));
    run(
        "openssl",
        &[
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=test",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-out",
            &certificate,
            "-keyout",
            &key,
        ],
    );
    run("chmod", &["755", &folder.display().to_string()]);
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0");
    if is_root {
        run("chown", &["postgres", &key]);
    }
    (certificate, key)
}

#[tokio::test]
async fn a_server_is_spoken_to_in_secret_where_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let (certificate, key) = certify(folder.path());
    let settings = [format!("ssl_cert_file={certificate}"), format!("ssl_key_file={key}")];
    let postgres = TestPostgres::start(&["ssl=on", &settings[0], &settings[1]]);
    let address = format!("{}?sslmode=require", postgres.database());
    let refused =
        PostgresStore::open(&address.parse().expect("an address")).await.expect_err("nobody trusts it");
    assert!(refused.to_string().contains("certificate"), "{refused}");
    // What is trusted is read from the environment, which a process cannot change while it has threads.
    let trusting = Command::new(std::env::current_exe().expect("this program has a name"))
        .args(["--exact", "encryption::speak_in_secret", "--nocapture"])
        .env("SSL_CERT_FILE", &certificate)
        .env("EPITOME_ENCRYPTED", &address)
        .output()
        .expect("this program can be started");
    assert!(trusting.status.success(), "{}", String::from_utf8_lossy(&trusting.stderr));
    let said = postgres.run(&address.replace("require", "disable"), "SELECT count(*) FROM epitome.entries");
    assert_eq!(said, "1");
}

/// Where this program was started to trust a certificate: speaks, and sees that it is in secret.
#[tokio::test]
async fn speak_in_secret() {
    let Ok(address) = std::env::var("EPITOME_ENCRYPTED") else { return };
    let store = open(&address).await;
    let lease = begin(&store).await;
    store.commit(lease, 0, saying(0, "in secret")).await.expect("it is committed");
    let connections = "SELECT count(*) FILTER (WHERE ssl), count(*) FILTER (WHERE NOT ssl)
        FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'epitome'";
    let (client, connection) =
        tokio_postgres::connect(&address.replace("require", "disable"), tokio_postgres::NoTls)
            .await
            .expect("it connects");
    tokio::spawn(connection);
    let row = client.query_one(connections, &[]).await.expect("it answers");
    assert!(row.get::<_, i64>(0) > 0);
    assert_eq!(row.get::<_, i64>(1), 0);
}
