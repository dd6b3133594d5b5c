//! Starts a kernel and ends it.

use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, mpsc};

use porcini_script::{Error, Interpreter, Options};
use signal_hook::consts::{SIGINT, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::connection_file::{ConnectionError, ConnectionFile};
use crate::history::{self, History};
use crate::host::{Notebook, Questions};
use crate::kernel::Kernel;
use crate::parent;
use crate::publisher::Publisher;
use crate::socket::control::{Control, serve_control};
use crate::socket::heartbeat::echo;
use crate::socket::post::{Outbox, Post};
use crate::socket::{SocketError, Sockets, end, spawn};
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
}

/// Serves one kernel until a client shuts it down or its parent dies.
pub(crate) fn serve(path: &Path, options: Options) -> Result<(), StartError> {
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
    spawn("parent", parent::watch)?;
    spawn("heartbeat", move || echo(&heartbeat))?;
    let answering =
        Control { wire: wire.clone(), publisher: publisher.clone(), outbox: outbox.clone() };
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
    let kernel = porcini_script::start_engine_thread(move || {
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
            }
            .run(),
            Err(error) => refuse(&error, &outbox),
        }
    });
    drop(kernel.map_err(SocketError::Thread)?);

    // Ends with the order to quit; then clients have a moment to take what was sent.
    if post.join().is_err() {
        warn("the thread that serves shell and iopub failed");
    }
    last.quit();
    end(context);
    Ok(())
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

fn refuse(error: &Error, outbox: &Outbox) {
    warn(&error.to_string());
    outbox.quit();
}

/// Ctrl-C in the terminal that Jupyter runs in reaches its kernels too: it stops a cell, not the kernel.
pub(crate) fn interrupt_on_signal() -> Result<(), StartError> {
    let mut signals = Signals::new([SIGINT])?;
    spawn("signals", move || signals.forever().for_each(|_| Interpreter::interrupt()))?;
    Ok(())
}
