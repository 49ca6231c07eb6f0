//! The scripted upstream as a program: says where it listens, and runs until it is told to stop.

mod cli;

use anyhow::{Context as _, Result};
use clap::Parser;
use cli::Cli;
use epitome_upstream::Upstream;
use std::io::{self, Write as _};
use tokio::sync::oneshot;

#[tokio::main]
async fn main() -> Result<()> {
    let cli = Cli::parse();
    let until_stdin_closes = cli.until_stdin_closes;
    let address = cli.listen;
    let upstream = Upstream::listen(cli.script()?, address);
    let upstream =
        upstream.await.with_context(|| format!("cannot listen on {address}; is the port taken?"))?;
    writeln!(io::stdout(), "listening on {}", upstream.base_url).context("cannot say where it listens")?;
    tokio::select! {
        () = interrupted() => {}
        () = stdin_closed(), if until_stdin_closes => {}
    }
    upstream.stop().await;
    Ok(())
}

/// Ends on ctrl-c, or when the process is asked to terminate.
#[cfg(unix)]
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        }
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}

#[cfg(not(unix))]
async fn interrupted() {
    drop(tokio::signal::ctrl_c().await);
}

/// Ends when nobody writes to standard input any more: whoever started this is gone.
async fn stdin_closed() {
    let (closed, is_closed) = oneshot::channel::<()>();
    // A thread of its own, so that a read which never returns keeps nobody from stopping.
    std::thread::spawn(move || {
        drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
        drop(closed);
    });
    drop(is_closed.await);
}
