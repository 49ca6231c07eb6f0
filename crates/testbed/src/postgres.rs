//! A PostgreSQL to be thrown away: its own cluster in a folder of its own, on a free port of this machine. It is stopped and
//! removed when the test program ends, however that ends: the shell that keeps it sees its input close.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// A PostgreSQL of a test program's own.
#[derive(Debug)]
pub struct TestPostgres {
    port: u16,
    programs: PathBuf,
    shell: Mutex<Shell>,
    databases: AtomicU32,
}

#[derive(Debug)]
struct Shell {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// Keeps a cluster: `$1` are PostgreSQL's programs, `$2` the port, `$3` further settings.
const KEEPER: &str = r#"
folder=$(mktemp -d) || exit 1
trap 'trap "" INT TERM; "$1/pg_ctl" -D "$folder/data" -m immediate -s stop; rm -rf "$folder"' EXIT
"$1/initdb" -D "$folder/data" -A trust -U postgres --no-sync -E UTF8 --locale=C.UTF-8 >"$folder/log" 2>&1 ||
    { cat "$folder/log"; exit 1; }
start() {
    "$1/pg_ctl" -D "$folder/data" -s -w -t 120 -l "$folder/log" \
        -o "-p $2 -c listen_addresses=127.0.0.1 -c unix_socket_directories='$folder' $3" start >/dev/null
}
start "$@" || { cat "$folder/log"; exit 1; }
echo ready
while read -r order; do
    case $order in
    stop) "$1/pg_ctl" -D "$folder/data" -m fast -s stop ;;
    crash) "$1/pg_ctl" -D "$folder/data" -m immediate -s stop ;;
    start) start "$@" ;;
    esac || cat "$folder/log"
    echo ready
done
"#;

/// The cluster that all tests of one program share.
static SHARED: LazyLock<TestPostgres> = LazyLock::new(|| TestPostgres::start(&[]));

impl TestPostgres {
    /// The one that all tests of this program share.
    ///
    /// # Panics
    /// Where PostgreSQL is not installed, or does not start.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// Starts one, with further settings (`name=value`). What is committed outlives its process and not the machine, unless
    /// they say `fsync=on`.
    ///
    /// # Panics
    /// Where PostgreSQL is not installed, or does not start.
    pub fn start(settings: &[&str]) -> Self {
        let programs = programs().expect(
            "no PostgreSQL is installed, and tests of the store need one: `apt-get install postgresql`, or `initdb` on the PATH",
        );
        let port = free_port();
        let settings = ["fsync=off"].iter().chain(settings).map(|setting| format!("-c {setting}"));
        let settings = settings.collect::<Vec<_>>().join(" ");
        let shell = Mutex::new(Shell::start(&programs, port, &settings));
        Self { port, programs, shell, databases: AtomicU32::new(0) }
    }

    /// A new database in it; its address.
    ///
    /// # Panics
    /// Where none can be made.
    pub fn database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let port = self.port.to_string();
        let made = Command::new(self.programs.join("createdb"))
            .args(["-h", "127.0.0.1", "-p", &port, "-U", "postgres", &name])
            .output()
            .expect("createdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        format!("postgres://postgres@127.0.0.1:{port}/{name}")
    }

    /// Runs statements on a database of it, as `psql` prints what comes of them.
    ///
    /// # Panics
    /// Where they fail.
    pub fn run(&self, address: &str, sql: &str) -> String {
        let psql = Command::new(self.programs.join("psql")).args([address, "-qAtc", sql]).output();
        let done = psql.expect("psql runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// Stops it as a machine stops that loses its power, and starts it again.
    ///
    /// # Panics
    /// Where it does not start again.
    pub fn crash(&self) {
        self.order("crash");
        self.order("start");
    }

    /// Stops it.
    ///
    /// # Panics
    /// Where it does not stop.
    pub fn stop(&self) {
        self.order("stop");
    }

    /// Starts it again.
    ///
    /// # Panics
    /// Where it does not start.
    pub fn start_again(&self) {
        self.order("start");
    }

    fn order(&self, order: &str) {
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        let input = shell.input.as_mut().expect("it is open until it is dropped");
        writeln!(input, "{order}").expect("the shell listens");
        shell.await_ready();
    }
}

impl Shell {
    fn start(programs: &Path, port: u16, settings: &str) -> Self {
        let mut command = match is_root() {
            // PostgreSQL does not run as root.
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--", "bash"]);
                command
            }
            false => Command::new("bash"),
        };
        command.args(["-c", KEEPER, "keeper"]).arg(programs).args([&port.to_string(), settings]);
        command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("a shell can be started");
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut shell = Self { process, input, output };
        shell.await_ready();
        shell
    }

    fn await_ready(&mut self) {
        let mut said = String::new();
        while !said.ends_with("ready\n") {
            let read = self.output.read_line(&mut said).expect("the shell answers");
            assert_ne!(read, 0, "PostgreSQL does not start:\n{said}");
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.input.take());
        // It has nothing else to do then.
        let _ = self.process.wait();
    }
}

/// Where PostgreSQL's programs are: those of Debian's newest version, or of what is on the path.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| {
            let number = version.file_name().to_str()?.parse().ok()?;
            Some((number, version.path().join("bin")))
        })
        .filter(|(_, folder)| folder.join("initdb").exists())
        .collect();
    folders.sort();
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| folder.join("initdb").exists())
    };
    folders.pop().map(|(_, folder)| folder).or_else(on_path)
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}
