z::byCopy(c={ .a = 11 }, k=1) = 12
z::toCopy(x=12) = { .a = 12 }
z::byMove(c={ .a = 11 }, k=1) = 12
z::toMove(x=12) = { .a = 12 }
z::byDtor(c={ .a = 11 }, k=1) = 12
z::toDtor(x=12) = { .a = 12 }
z::byDefaulted(c={ .a = 11 }, k=1) = 12
z::toDefaulted(x=12) = { .a = 12 }
z::byDeleted(c={ .a = 11 }, k=1) = 12
z::toDeleted(x=12) = { .a = 12 }
z::byAssigned(c={ .a = 11 }, k=1) = 12
z::toAssigned(x=12) = { .a = 12 }
z::byOutside(c={ .a = 11 }, k=1) = 12
z::toOutside(x=12) = { .a = 12 }
z::byBase(c={ .a = 11, .b = 4 }, k=1) = 16
z::toBase(x=12) = { .a = 12, .b = 5 }
z::byMember(c={ .k = 4, .c = { .a = 11 } }, k=1) = 16
z::toMember(x=12) = { .k = 3, .c = { .a = 12 } }
z::byTwo(c={ .a = 11, .b = -4 }, k=1) = 8
z::toTwo(x=12) = { .a = 12, .b = -1 }
z::byVirt(c={ .a = 11 }, k=1) = 12
z::byOdd(x={ .c = 1, .l = -2 }, e={}, k=1) = 0
z::byAligned(a=4, x={ .x = 1, .y = 2 }, k=1) = 8
z::byBits(x={ .a = 5, .b = -9, .c = 78187493530, .d = true }) = { .a = 4, .b = -9, .c = 78187493530, .d = true }
z::enums(a=green, b=minus, none=3) = 9
z::wide(x=-18446744073709551617, k=1) = -18446744073709551616
z::late(a=1, b=2, c=3, d=4, e=5, x={ .a = 6, .b = -7 }, f=8, g=-9, h=true) = 14
z::strings(s="short", v="view", r="a string that is longer than fits inside of it", m="moved", w="wide ü", u="u16 😀") = 72
z::toString(n=3) = "xxx"
z::toString(n=20) = "xxxxxxxxxxxxxxxxxxxx"
z::toView(n=4) = "view"
z::vectors(a=[1,-2,3], b=["one","two"], c=[true,false,true], d=[[1],[2,3]]) = 10
z::fixed(a=[1,2,3], b=["x","y"], c=[8,9]) = 15
z::together(b={ .first = "p", .second = 3 }, t=(1, -99, "s")) = 4
z::trees(a={ .size = 2 }, b={ .size = 1 }, c={ .size = 3 }, f={ .size = 4 }, g={ .size = 1000 }) = 1010
z::maybe(a=42, b=nullopt, c="str") = 45
z::either(a=5, b="text", c=2.5) = 2
z::times(a=1500ms, h=3h, m=4min) = 1507
z::calls(p=z::plus5(int), e=PTR) = 6
z::choose(op=0, s="s") = 1
z::choose(op=1, s="sa") = 22
z::choose(op=2, s="sa") = 3
z::choose(op=3, s="sac") = 4
z::choose(op=4, s="") = 15
z::choose(op=5, s="") = 6
z::choose(op=6, s="") has not returned
z::Both::Both(this=PTR, x=6)
z::Both::left(this=PTR, x=1) = 7
z::Both::right(this=PTR, x=1, s="nn") = 9
z::Both::~Both(this=PTR)
z::Both::~Both [deleting](this=PTR)
