package probe

// Kind is a probe kind.
type Kind uint8

// Kinds.
const (
	Begin Kind = iota
	End
	Self // self:signal:NAME
	Test
	Bench
	Interval
	Profile
	Software
	Hardware
	Uprobe
	Uretprobe
	USDT
	Watchpoint
	Tracepoint
	RawTracepoint
	Kprobe
	Kretprobe
	Fentry
	Fexit
	Iter
)

// traits is what is known of a kind.
type traits struct {
	name    string
	aliases []string // short and former names, case matters
}

// table has the traits of each kind.
var table = [...]traits{
	Begin:         {name: "begin"},
	End:           {name: "end"},
	Self:          {name: "self"},
	Test:          {name: "test"},
	Bench:         {name: "bench"},
	Interval:      {name: "interval", aliases: []string{"i"}},
	Profile:       {name: "profile", aliases: []string{"p"}},
	Software:      {name: "software", aliases: []string{"s"}},
	Hardware:      {name: "hardware", aliases: []string{"h"}},
	Uprobe:        {name: "uprobe", aliases: []string{"u"}},
	Uretprobe:     {name: "uretprobe", aliases: []string{"ur"}},
	USDT:          {name: "usdt", aliases: []string{"U"}},
	Watchpoint:    {name: "watchpoint", aliases: []string{"w"}},
	Tracepoint:    {name: "tracepoint", aliases: []string{"t"}},
	RawTracepoint: {name: "rawtracepoint", aliases: []string{"rt"}},
	Kprobe:        {name: "kprobe", aliases: []string{"k"}},
	Kretprobe:     {name: "kretprobe", aliases: []string{"kr"}},
	Fentry:        {name: "fentry", aliases: []string{"f", "kfunc"}},
	Fexit:         {name: "fexit", aliases: []string{"fr", "kretfunc"}},
	Iter:          {name: "iter", aliases: []string{"it"}},
}

// String is the kind's name as listings and the builtin `probe` show it.
func (k Kind) String() string {
	if int(k) < len(table) {
		return table[k].name
	}
	return "probe"
}

// Aliases are the kind's short and former names. Case matters in them.
func (k Kind) Aliases() []string {
	if int(k) < len(table) {
		return table[k].aliases
	}
	return nil
}
