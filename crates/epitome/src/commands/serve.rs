//! `epitome serve`: the proxy, until it is told to stop.

mod allocator;
mod log;
mod retention;
mod rules;
mod store;

pub use log::{LogFormat, LogLevel};

use crate::cli::{PolicyArgs, ServeArgs, StoreArgs};
use crate::clock::WallClock;
use crate::output::Page;
use crate::session_ports::{Dry, PortsBuilder};
use crate::settings::{AgentFolder, Lookup, Places, ServerChoice};
use crate::transcript_file::catalog;
use anyhow::{Context as _, Result};
use epitome_core::Tokens;
use epitome_server::{ApiToken, NoticeLevel, SILENCE_TIME_MAX, Server, ServerSettings, Upstreams};
use epitome_settings::{Door, StoreSettings};
use log::ServerLog;
use rules::LiveRules;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use store::SessionPlace;
use tokio::task::JoinHandle;

/// Serves until ctrl-c, or until the process is asked to terminate.
pub fn run(args: ServeArgs) -> Result<()> {
    let log = ServerLog { format: args.log_format, level: args.log_level };
    let address = args.port.map_or(args.listen, |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    let store = StoreArgs { store: args.store.clone() };
    let (settings, stored) = settings(args, log)?;
    allocator::return_early();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("cannot start serving")?;
    let served = runtime.block_on(async {
        let (upstreams, is_observing) = (settings.upstreams.clone(), settings.is_observing);
        let asks_token = settings.api_token.is_some();
        let place = SessionPlace::open(&store, log).await?;
        let settings = ServerSettings { store: place.server_store(stored.keep), ..settings };
        let server = Server::bind(address, settings).await?;
        let end = interruption().context("cannot be told to stop")?;
        welcome(server.address(), &upstreams, &place.to_string(), is_observing, asks_token).print()?;
        let retention = place.lasting().map(|store| tokio::spawn(retention::watch(store, stored, log)));
        let returning = tokio::spawn(allocator::keep_returning());
        let served = server.run_until(end).await;
        returning.abort();
        retention.inspect(JoinHandle::abort);
        place.close(log).await;
        log.stopped(&served?);
        Ok(())
    });
    // What is still at work on a thread of its own has nobody left to work for.
    runtime.shutdown_timeout(LAST_WORK_TIME_MAX);
    served
}

/// What was let go notices it by then.
const LAST_WORK_TIME_MAX: Duration = Duration::from_secs(1);

fn settings(args: ServeArgs, log: ServerLog) -> Result<(ServerSettings, StoreSettings)> {
    let catalog = catalog(args.models.as_deref())?;
    let policy = PolicyArgs {
        preset: args.preset,
        summarizer: args.summarizer,
        config: args.config,
        set: args.set,
        ..PolicyArgs::default()
    };
    tell_ignored(&policy, log)?;
    let lookup = Lookup::new(policy, Some(Door::Serve))?;
    let resolved = lookup.resolve(None)?;
    let stored = resolved.store;
    let ports = PortsBuilder::new(lookup.places.clone(), catalog.clone(), Dry::No);
    let agents = args.agents.map(AgentFolder::open).transpose()?;
    let window = args.window.map(Tokens);
    let said = ServerChoice {
        url: args.upstream,
        anthropic: args.upstream_anthropic,
        openai: args.upstream_openai,
        routes: args.route,
        observe: args.observe.then_some(true),
    };
    let choice = ServerChoice::of_file(&resolved.server, &lookup.places)?.under(said);
    let settings = ServerSettings {
        upstreams: choice.upstreams(),
        rules: Arc::new(LiveRules::open(lookup, agents, ports, window, log)?),
        window,
        catalog: Arc::new(catalog),
        clock: Arc::new(WallClock::start()),
        tell: Arc::new(move |notice| log.notice(notice)),
        store: None,
        is_observing: choice.observe.unwrap_or_default(),
        silence_max: SILENCE_TIME_MAX,
        api_token: api_token(args.api_token.as_deref())?,
    };
    Ok((settings, stored))
}

/// The token of the API; what is wrong with it is told without saying it.
fn api_token(said: Option<&str>) -> Result<Option<ApiToken>> {
    // A file that a secret is read from ends with a line's end; a variable that is set to nothing asks for none.
    let said = said.map(str::trim).filter(|said| !said.is_empty());
    said.map(ApiToken::new).transpose().context("EPITOME_API_TOKEN, or --api-token, cannot be used")
}

/// Says that the settings of the project we stand in are not read: whoever writes them is not whoever serves.
fn tell_ignored(args: &PolicyArgs, log: ServerLog) -> Result<()> {
    let places = Places::here(args.config.as_deref())?;
    if let Some(file) = places.project_file().filter(|file| file.is_file()) {
        let own = places.operator.map_or_else(String::new, |own| format!(" in {}", own.display()));
        let text = format!(
            "{} is ignored: `serve` reads no project's settings; say it{own}, or in a file named by --config",
            file.display()
        );
        log.say(NoticeLevel::Warn, &text);
    }
    Ok(())
}

/// What to set in an agent.
fn welcome(
    address: SocketAddr,
    upstreams: &Upstreams,
    kept: &str,
    is_observing: bool,
    asks_token: bool,
) -> Page {
    let mut page = Page::default();
    writeln!(page, "listening on http://{address}\n{kept}\n");
    if is_observing {
        writeln!(
            page,
            "Only observing: requests go out as they came, and what would have been done is told.\n"
        );
    }
    writeln!(page, "Point your agent at it; its own key goes along to the provider:");
    writeln!(page, "  export ANTHROPIC_BASE_URL=http://{address}     # to {}", upstreams.anthropic);
    writeln!(page, "  export OPENAI_BASE_URL=http://{address}/v1     # to {}", upstreams.openai);
    let key = if asks_token { ", with `Authorization: Bearer TOKEN`" } else { "" };
    writeln!(
        page,
        "\nSee what it does: http://{address}/api/v1/stats (totals), /api/v1/sessions{key}   Stop: ctrl-c"
    );
    page
}

/// Comes to its end at ctrl-c, or when the process is asked to terminate, from this call on: whoever reads that we listen
/// may stop us at once. What it ends with does so when that is said again.
#[cfg(unix)]
#[expect(clippy::async_yields_async, reason = "what the first signal ends in is the wait for the second")]
fn interruption() -> std::io::Result<impl Future<Output = impl Future<Output = ()>>> {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    async fn either(signals: &mut (Signal, Signal)) {
        tokio::select! {
            _ = signals.0.recv() => {}
            _ = signals.1.recv() => {}
        }
    }
    // A file that may grow no more is told by the write that fails; unheard, the signal would end the process without a word.
    drop(signal(SignalKind::from_raw(libc::SIGXFSZ))?);
    let mut signals = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        either(&mut signals).await;
        async move { either(&mut signals).await }
    })
}

#[cfg(not(unix))]
#[expect(clippy::async_yields_async, reason = "what the first signal ends in is the wait for the second")]
fn interruption() -> std::io::Result<impl Future<Output = impl Future<Output = ()>>> {
    Ok(async {
        drop(tokio::signal::ctrl_c().await);
        async { drop(tokio::signal::ctrl_c().await) }
    })
}
