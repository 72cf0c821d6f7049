//! A connection to the server that can be cut at the worst moment: when the server has done what
//! it was asked to, and before its answer arrives.
#![allow(dead_code, reason = "not every test file uses all of it")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use postgres::config::Host;
use unyoke_store::Location;

use crate::places::{Postgres, Shared, server};

/// Passes everything on between clients and the server.
pub(crate) struct Wire {
    port: u16,
    orders: Arc<Mutex<Orders>>,
}

/// Which answers do not arrive.
#[derive(Default)]
struct Orders {
    /// Part of the answers.
    part: Vec<u8>,
    /// How many more.
    left: usize,
    done: usize,
    /// How many connections are cut once answers were swallowed, before they say anything.
    refused: usize,
}

/// The two ends of a connection to the server.
trait Stream: Read + Write + Send {
    fn another(&self) -> Box<dyn Stream>;
    fn cut(&self);
}

impl Stream for TcpStream {
    fn another(&self) -> Box<dyn Stream> {
        Box::new(self.try_clone().unwrap())
    }

    fn cut(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Stream for UnixStream {
    fn another(&self) -> Box<dyn Stream> {
        Box::new(self.try_clone().unwrap())
    }

    fn cut(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Wire {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let orders = Arc::<Mutex<Orders>>::default();
        let theirs = orders.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                connect(Box::new(client.unwrap()), &theirs);
            }
        });
        Self { port, orders }
    }

    /// The study of a place, through this wire.
    pub(crate) fn location(&self, place: &Postgres) -> Location {
        let config: postgres::Config = server().parse().unwrap();
        let user = config.get_user().unwrap_or("postgres");
        let password = config.get_password().map(|password| String::from_utf8_lossy(password));
        let password = password.map(|password| format!(":{password}")).unwrap_or_default();
        let database = config.get_dbname().unwrap_or(user);
        let text = place.text();
        let study = text.rsplit_once("study=").unwrap().1;
        let port = self.port;
        let text = format!("postgres://{user}{password}@127.0.0.1:{port}/{database}?study={study}");
        Location::parse(&text).unwrap()
    }

    /// From now on, of the answers with this part, one does not arrive and its connection is cut;
    /// so are the next connections, until `times` of them were.
    pub(crate) fn swallow(&self, part: &str, times: usize) {
        let part = part.as_bytes().to_vec();
        *self.orders.lock().unwrap() =
            Orders { part, left: 1, done: 0, refused: times.saturating_sub(1) };
    }

    /// How many connections were cut.
    pub(crate) fn swallowed(&self) -> usize {
        self.orders.lock().unwrap().done
    }
}

fn to_server() -> Box<dyn Stream> {
    let config: postgres::Config = server().parse().unwrap();
    let port = config.get_ports().first().copied().unwrap_or(5432);
    match &config.get_hosts()[0] {
        Host::Tcp(host) => Box::new(TcpStream::connect((host.as_str(), port)).unwrap()),
        Host::Unix(folder) => {
            Box::new(UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).unwrap())
        }
    }
}

fn connect(client: Box<dyn Stream>, orders: &Arc<Mutex<Orders>>) {
    {
        let mut orders = orders.lock().unwrap();
        if orders.done > 0 && orders.refused > 0 {
            orders.refused -= 1;
            orders.done += 1;
            return client.cut();
        }
    }
    let server = to_server();
    let (questions, answers) = ((client.another(), server.another()), (server, client));
    std::thread::spawn(move || pass_on(questions, |_| false));
    let orders = orders.clone();
    std::thread::spawn(move || pass_on(answers, |bytes| is_swallowed(bytes, &orders)));
}

/// Passes on what one end says to the other, until one of them is closed or must be cut.
fn pass_on(ends: (Box<dyn Stream>, Box<dyn Stream>), mut is_last: impl FnMut(&[u8]) -> bool) {
    let (mut from, mut to) = ends;
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if is_last(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    from.cut();
    to.cut();
}

fn is_swallowed(bytes: &[u8], orders: &Mutex<Orders>) -> bool {
    let mut orders = orders.lock().unwrap();
    let found = orders.left > 0 && bytes.windows(orders.part.len()).any(|part| part == orders.part);
    if found {
        orders.left -= 1;
        orders.done += 1;
    }
    found
}
