//! Ranks that a launcher starts for a leader outside of it, on whichever machines: each connects back, over TCP, and shows
//! the token that the leader has put into the environment.
//!
//! A rank makes two connections: one for messages, and one over which it is told to give up what it is doing.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::ifaddrs::getifaddrs;

use super::channel::Stream;
use super::door::{Door, Greeting, TOKEN, prepare};
use super::link::Process;
use super::local::{RanksOn, host_name};
use super::remote::{Stranger, greet};
use super::worker::{Open, serve};
use crate::backend::waiting::Waiting;
use crate::backend::{Backend, Outside};
use crate::error::{Error, Result};
use crate::interrupt;

/// The variable that tells a rank where its leader is: `TOKEN HOST:PORT HOST:PORT`.
pub const VARIABLE: &str = "PORCINI_LEADER";

/// How long a launcher may take to start all ranks: it may wait for machines, and Ctrl-C ends that.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long no other may come when one has: the launcher starts fewer than it should.
const LATE: Duration = Duration::from_secs(60);
/// How long a connection to an address may take.
const REACH: Duration = Duration::from_secs(5);
/// Between two looks at what has come.
const PAUSE: Duration = Duration::from_millis(2);
/// How long a launcher may take to end when its ranks have.
const FAREWELL: Duration = Duration::from_secs(2);

/// What nobody guesses, as letters.
fn random() -> io::Result<[u8; TOKEN]> {
    let mut bytes = [0; TOKEN / 2];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let letters: Vec<u8> = digits.map(|digit| b'a' + digit).collect();
    letters.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
}

/// A launcher at work, which is ended when its last rank is let go.
struct Launcher(Mutex<Child>);

impl Launcher {
    fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it ended, if it has.
    fn end(&self) -> Option<String> {
        let status = self.child().try_wait().ok()??;
        Some(format!("the launcher ended ({status})"))
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        let since = Instant::now();
        while self.end().is_none() && since.elapsed() < FAREWELL {
            thread::sleep(PAUSE);
        }
        let mut child = self.child();
        drop(child.kill());
        drop(child.wait());
    }
}

/// A rank that a launcher has started.
struct Distant {
    control: Mutex<TcpStream>,
    launcher: Arc<Launcher>,
}

impl Distant {
    fn control(&self) -> MutexGuard<'_, TcpStream> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process for Distant {
    fn interrupt(&self) -> bool {
        // Of a rank that is gone the connection for messages tells.
        drop(self.control().write_all(&[1]));
        true
    }

    fn give_up(&self) {
        // Its end is a request to stop, too.
        drop(self.control().shutdown(Shutdown::Both));
    }

    fn end(&self) -> String {
        // Launchers take a moment to see it.
        thread::sleep(Duration::from_millis(200));
        let connection = "closed its connection".to_string();
        self.launcher.end().map_or(connection.clone(), |end| format!("{connection}; {end}"))
    }
}

/// Has a launcher start ranks 1 to `n - 1`, of so many threads each: in its words `{}` is how many there are to be.
///
/// # Errors
/// `NoDevice`: it cannot be started, ends, or its ranks do not come; `Interrupted`.
pub fn launch(
    launcher: &str,
    outside: &Outside,
    threads: usize,
    n: usize,
    on: RanksOn,
) -> Result<Vec<Arc<dyn Backend>>> {
    let failed = |reason: String| Error::NoDevice { name: format!("ranks:{n}"), reason };
    if !launcher.contains("{}") {
        let reason = format!(
            "the launcher `{launcher}` is not told how many ranks to start: write {{}} in the place of the number, \
             as in 'srun -n {{}}'"
        );
        return Err(failed(reason));
    }
    let told = |error: io::Error| failed(format!("`{launcher}` cannot be started: {error}"));
    let (mut door, port) = Door::open().map_err(told)?;
    let token = random().map_err(told)?;
    let leader = format!("{} {}", String::from_utf8_lossy(&token), hosts(port).join(" "));
    let mut words =
        launcher.split_whitespace().map(|word| word.replace("{}", &(n - 1).to_string()));
    let program = words.next().ok_or_else(|| failed("the launcher has no name".into()))?;
    let child = Command::new(program)
        .args(words)
        .args(&outside.rank)
        .arg(threads.to_string())
        .env(VARIABLE, leader)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        // Ctrl-C is for the leader, which passes it on.
        .process_group(0)
        .spawn();
    let launcher = Arc::new(Launcher(Mutex::new(child.map_err(told)?)));
    let (since, mut last) = (Instant::now(), None::<Instant>);
    let mut waiting = Waiting::new(&outside.waiting);
    let (mut halves, mut ranks): (Vec<(Greeting, TcpStream)>, Vec<Stranger>) = Default::default();
    while ranks.len() < n - 1 {
        let Some((greeting, stream)) = door.next() else {
            if interrupt::is_requested() {
                return Err(Error::Interrupted);
            }
            if let Some(end) = launcher.end() {
                return Err(failed(format!("{end}, and {} ranks had come", ranks.len())));
            }
            let came = || format!("{} of {} ranks came", ranks.len(), n - 1);
            let is_late = last.is_some_and(|last| last.elapsed() > LATE);
            if is_late || since.elapsed() > PATIENCE {
                let time = since.elapsed().as_secs();
                return Err(failed(format!(
                    "{} in {time} s: is {{}} the number of processes?",
                    came()
                )));
            }
            waiting.say(|_| came());
            thread::sleep(PAUSE);
            continue;
        };
        // Whoever does not know the token is none of ours.
        if greeting.token != token {
            continue;
        }
        match halves.iter().position(|(half, _)| half.rank == greeting.rank) {
            None => halves.push((greeting, stream)),
            Some(place) => {
                let (half, other) = halves.swap_remove(place);
                let (messages, control) =
                    if half.kind == 0 { (other, stream) } else { (stream, other) };
                let process = Distant { control: Mutex::new(control), launcher: launcher.clone() };
                ranks.push((Box::new(Stream(messages)), Box::new(process)));
                last = Some(Instant::now());
            }
        }
    }
    drop(waiting);
    greet(ranks, on, &outside.waiting)
}

/// Where this machine can be reached, best first: by its name, by the addresses of its networks, for names are not known
/// everywhere, and from itself.
fn hosts(port: u16) -> Vec<String> {
    let mut hosts = vec![format!("{}:{port}", host_name())];
    let interfaces = getifaddrs().into_iter().flatten();
    let addresses = interfaces.filter_map(|interface| {
        Some(IpAddr::from(interface.address?.as_sockaddr_in()?.ip())).filter(|ip| !ip.is_loopback())
    });
    hosts.extend(addresses.map(|ip| SocketAddr::new(ip, port).to_string()));
    hosts.push(format!("127.0.0.1:{port}"));
    hosts
}

/// Connects to the first host that can be reached.
fn reach(hosts: &[&str]) -> io::Result<TcpStream> {
    let mut failed = io::ErrorKind::AddrNotAvailable.into();
    for address in hosts.iter().filter_map(|host| host.to_socket_addrs().ok()).flatten() {
        match TcpStream::connect_timeout(&address, REACH) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Whether the leader that the variable [`VARIABLE`] tells of is on this host.
pub fn leads_here(leader: &str) -> bool {
    let host = leader.split(' ').nth(1).and_then(|word| word.rsplit_once(':'));
    host.is_some_and(|(host, _)| host == host_name())
}

/// Serves the leader that the variable [`VARIABLE`] tells of, until it goes.
///
/// # Errors
/// The text is none of a leader, nobody is there, or the connection broke.
pub fn serve_distant(leader: &str, open: &Open<'_>) -> io::Result<()> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, format!("{VARIABLE} is wrong"));
    let mut words = leader.split(' ');
    let token: [u8; TOKEN] =
        words.next().and_then(|word| word.as_bytes().try_into().ok()).ok_or_else(wrong)?;
    let hosts: Vec<&str> = words.collect();
    if hosts.is_empty() {
        return Err(wrong());
    }
    let rank = random()?;
    let connect = |kind| {
        let mut stream = reach(&hosts)?;
        prepare(&stream)?;
        Greeting { token, rank, kind }.send(&mut stream)?;
        Ok::<_, io::Error>(stream)
    };
    let (messages, mut control) = (connect(0)?, connect(1)?);
    let listen = move || {
        // The end of it, too, ends what is under way.
        while matches!(control.read(&mut [0]), Ok(1)) {
            interrupt::request();
        }
        interrupt::request();
    };
    thread::Builder::new().name("control".into()).spawn(listen)?;
    serve(Stream(messages), open)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn this_machine_has_hosts_and_the_first_that_answers_is_taken() {
        let listener = TcpListener::bind(("0.0.0.0", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = hosts(port);
        assert_eq!(own.last(), Some(&format!("127.0.0.1:{port}")));
        for address in &own[1..own.len() - 1] {
            let address: SocketAddr = address.parse().unwrap();
            assert!(!address.ip().is_loopback() && address.port() == port, "{own:?}");
        }
        let unknown = "no-such-machine.invalid:1";
        let stream = reach(&[unknown, "127.0.0.1:0", own.last().unwrap()]).unwrap();
        prepare(&stream).unwrap();
        assert_eq!(stream.peer_addr().unwrap().port(), port);
        assert_eq!(reach(&[unknown]).unwrap_err().kind(), io::ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn a_leader_is_here_or_elsewhere() {
        let own = format!("token {} 10.0.0.7:5", hosts(5)[0]);
        assert!(leads_here(&own));
        for other in ["token elsewhere.invalid:5 127.0.0.1:5", "token", ""] {
            assert!(!leads_here(other), "{other}");
        }
    }
}
