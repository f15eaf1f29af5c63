// Parameters that optimized code stores in its frame late, because their address is taken; and methods whose result nobody uses.

struct Queue {
    items: Vec<u64>,
}

impl Queue {
    #[inline(never)]
    fn push(&mut self, n: u64) -> usize {
        self.items.push(n);
        self.items.len() + 100
    }
    #[inline(never)]
    fn size(&self, add: usize) -> usize {
        self.items.len() + add
    }
}

#[inline(never)]
fn report(id: u32, name: &str, ok: bool, n: u64) {
    println!("id={id} name={name:?} ok={ok} n={n}");
}

fn main() {
    for i in 1..4u32 {
        report(i * 10, std::hint::black_box("nm"), i > 1, i as u64 * 100);
    }
    let mut q = Queue { items: vec![] };
    q.push(7);
    q.push(8);
    println!("{} {:?}", q.size(std::hint::black_box(40)), q.items);
}
