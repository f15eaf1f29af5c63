// Values of which a function does not look at all, or which it stores late.
use std::hint::black_box;

#[inline(never)]
fn late(early: bool, v: [u8; 3], c: bool) -> u64 {
    if early {
        return black_box(1);
    }
    black_box(&v);
    black_box(&c);
    v.iter().map(|&x| x as u64).sum::<u64>() + c as u64
}

#[inline(never)]
fn part(v: [i16; 4], yes: bool) -> i64 {
    v[0] as i64 + yes as i64
}

#[inline(never)]
fn wide(n: i128, yes: bool) -> u64 {
    n as u64 + yes as u64
}

fn main() {
    let mut sum = 0;
    for early in [false, true] {
        let v = if early { [1, 2, 3] } else { [7, 8, 9] };
        sum += late(black_box(early), black_box(v), black_box(!early));
    }
    sum += part(black_box([5, -6, 7, -8]), black_box(true)) as u64;
    sum = sum.wrapping_add(wide(black_box(-36893488147419103238), black_box(false)));
    println!("{sum}");
}
