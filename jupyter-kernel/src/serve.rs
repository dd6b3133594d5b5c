//! Starts a kernel and ends it.

use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, mpsc};

use porcini_script::{Interpreter, Options};
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

use crate::connection_file::{ConnectionError, ConnectionFile};
use crate::ending::{end_when_asked, interrupt_on_signal};
use crate::history::{self, History};
use crate::host::{Notebook, Questions};
use crate::kernel::Kernel;
use crate::printed;
use crate::publisher::Publisher;
use crate::socket::control::{Control, serve_control};
use crate::socket::heartbeat::echo;
use crate::socket::post::{Outbox, Post};
use crate::socket::{SocketError, Sockets, end, spawn};
use crate::usage::Usage;
use crate::warn::warn;
use crate::wire::Wire;

/// Why a kernel does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("{path}: {cause}")]
    Read { path: String, cause: std::io::Error },
    #[error("{path}: {cause}")]
    Connection { path: String, cause: ConnectionError },
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error("the system refuses what wakes a thread: {0}")]
    Outbox(#[from] std::io::Error),
    #[error("{0}")]
    Interpreter(String),
}

/// Serves one kernel until a client shuts it down, its parent dies or a signal asks for it; `wrong` is what the first cell
/// tells of the environment.
pub(crate) fn serve(path: &Path, options: Options, wrong: Vec<String>) -> Result<(), StartError> {
    let file = read(path)?;

    let Sockets { context, shell, stdin, iopub, control, heartbeat } = Sockets::bind(&file)?;
    let wire = Arc::new(Wire::new(&file.key));
    let (outbox, deliveries) = Outbox::new()?;
    let keeps = options.sandbox.is_none();
    let publisher = Arc::new(Publisher::new(wire.clone(), outbox.clone(), keeps));
    let last = publisher.clone();
    let (requests, received) = mpsc::channel();
    let (answers, answered) = mpsc::channel();

    // Writing more than a file may hold (`ulimit -f`) fails as on a full disk.
    flag::register(SIGXFSZ, Arc::default())?;
    interrupt_on_signal()?;
    end_when_asked(&outbox)?;
    if keeps {
        // Without a thread for it nothing is lost.
        drop(spawn("sweep", || printed::sweep(&std::env::temp_dir())));
    }
    spawn("heartbeat", move || echo(&heartbeat))?;
    let answering = Control {
        wire: wire.clone(),
        publisher: publisher.clone(),
        outbox: outbox.clone(),
        usage: Usage::default(),
    };
    spawn("control", move || serve_control(&control, &answering))?;
    let (post_wire, post_publisher) = (wire.clone(), publisher.clone());
    let post = Post {
        shell,
        stdin,
        iopub,
        deliveries,
        wire: post_wire,
        publisher: post_publisher,
        requests,
        answers,
    };
    let post = spawn("post", move || post.run())?;

    porcini_core::device::prepare();
    let (failure, failed) = mpsc::channel();
    let kernel = porcini_script::start_engine_thread(move || {
        let ends = Ends { outbox: outbox.clone(), failure };
        let questions = Questions::new(wire.clone(), outbox.clone(), answered);
        let notebook = Rc::new(Notebook::new(publisher.clone(), questions));
        match Interpreter::new(notebook.clone(), &options) {
            Ok(interpreter) => Kernel {
                interpreter,
                notebook,
                requests: received,
                outbox,
                wire,
                publisher,
                history: History::in_file(if keeps { history::file() } else { None }),
                count: 0,
                wrong,
            }
            .run(),
            Err(error) => ends.tell([vec![error.message], error.hints].concat().join("; ")),
        }
    });
    drop(kernel.map_err(SocketError::Thread)?);

    // Ends with the order to quit; then clients have a moment to take what was sent.
    if post.join().is_err() {
        warn("the thread that serves shell and iopub failed");
    }
    last.quit();
    end(context);
    failed.try_recv().map_or(Ok(()), |why| Err(StartError::Interpreter(why)))
}

/// The end of the interpreter's thread, which is that of the kernel: without it nobody would answer.
struct Ends {
    outbox: Outbox,
    failure: mpsc::Sender<String>,
}

impl Ends {
    fn tell(&self, why: String) {
        // Before the end of the post, somebody listens.
        drop(self.failure.send(why));
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.tell("internal error: the thread that runs cells failed".into());
        }
        self.outbox.quit();
    }
}

/// The connection file. What is not safe about it is told: Jupyter may have been asked for it.
fn read(path: &Path) -> Result<ConnectionFile, StartError> {
    let name = || path.display().to_string();
    let contents = std::fs::read_to_string(path).and_then(|json| Ok((json, path.metadata()?)));
    let (json, about) = contents.map_err(|cause| StartError::Read { path: name(), cause })?;
    let file = ConnectionFile::parse(&json)
        .map_err(|cause| StartError::Connection { path: name(), cause })?;
    file.warnings(path, &about).iter().for_each(|why| warn(&format!("warning: {why}")));
    Ok(file)
}
