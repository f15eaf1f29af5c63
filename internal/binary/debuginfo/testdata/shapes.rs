use std::collections::HashMap;
#[derive(Debug, Clone)]
enum Shape { Circle(f64), Rect { w: u32, h: u32 }, Empty }
#[derive(Debug)]
struct S<'a> { name: &'a str, v: Vec<u8>, o: Option<Box<i32>>, big: u128, c: char, t: (i32, u8), sl: &'a [u16], st: String }
trait Area { fn area(&self, k: u32) -> u32; }
impl Area for Shape { #[inline(never)] fn area(&self, k: u32) -> u32 { match self { Shape::Circle(r) => *r as u32 * k, Shape::Rect{w,h} => w*h*k, _ => 0 } } }
impl<'a> S<'a> { #[inline(never)] fn look(&self, n: &str, o: Option<u32>) -> Result<usize, String> { if n.len() > 100 { Err(n.to_string()) } else { Ok(self.v.len() + n.len() + o.unwrap_or(3) as usize) } } }
fn main() {
  let v: Vec<u32> = std::env::args().map(|a| a.len() as u32).collect();
  let s = S { name: "x", v: vec![1,2,3], o: Some(Box::new(3)), big: 7, c: 'x', t: (1,2), sl: &[1,2], st: "z".to_string() };
  let mut m = HashMap::new(); m.insert("a", v.len());
  let sh = [Shape::Circle(1.0), Shape::Rect{w:v[0],h:2}, Shape::Empty];
  println!("{:?} {:?} {:?} {} {:?}", s.look("abc", Some(v[0])), s, m, sh.iter().map(|x| x.area(3)).sum::<u32>(), sh);
}
