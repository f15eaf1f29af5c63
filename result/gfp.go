package result

// gfpFlags are the kernel's names of allocation flags in the order of __def_gfpflag_names
// (include/trace/events/mmflags.h): combinations before their parts. Bits as of include/linux/gfp_types.h, 6.17 to 7.0.
var gfpFlags = [...]struct {
	mask uint64
	name string
}{
	{gfpTranshugeLight | gfpDirectReclaim, "GFP_TRANSHUGE"},
	{gfpTranshugeLight, "GFP_TRANSHUGE_LIGHT"},
	{gfpMovable, "GFP_HIGHUSER_MOVABLE"},
	{gfpUser | gfpHighmem, "GFP_HIGHUSER"},
	{gfpUser, "GFP_USER"},
	{gfpKernel | 1<<22, "GFP_KERNEL_ACCOUNT"},
	{gfpKernel, "GFP_KERNEL"},
	{gfpReclaim | gfpIO, "GFP_NOFS"},
	{gfpHigh | gfpKswapdReclaim, "GFP_ATOMIC"},
	{gfpReclaim, "GFP_NOIO"},
	{gfpKswapdReclaim | gfpNowarn, "GFP_NOWAIT"},
	{1 << 0, "GFP_DMA"},
	{gfpHighmem, "__GFP_HIGHMEM"},
	{1 << 2, "GFP_DMA32"},
	{gfpHigh, "__GFP_HIGH"},
	{gfpIO, "__GFP_IO"},
	{gfpFS, "__GFP_FS"},
	{1 << 8, "__GFP_ZERO"},
	{gfpDirectReclaim, "__GFP_DIRECT_RECLAIM"},
	{gfpKswapdReclaim, "__GFP_KSWAPD_RECLAIM"},
	{1 << 12, "__GFP_WRITE"},
	{gfpNowarn, "__GFP_NOWARN"},
	{1 << 14, "__GFP_RETRY_MAYFAIL"},
	{1 << 15, "__GFP_NOFAIL"},
	{1 << 16, "__GFP_NORETRY"},
	{1 << 17, "__GFP_MEMALLOC"},
	{gfpComp, "__GFP_COMP"},
	{gfpNomemalloc, "__GFP_NOMEMALLOC"},
	{gfpHardwall, "__GFP_HARDWALL"},
	{1 << 21, "__GFP_THISNODE"},
	{1 << 22, "__GFP_ACCOUNT"},
	{1 << 23, "__GFP_ZEROTAGS"},
	{1 << 24, "__GFP_SKIP_ZERO"},
	{gfpSkipKasan, "__GFP_SKIP_KASAN"},
	{1 << 26, "__GFP_NO_OBJ_EXT"},
}

const (
	gfpHighmem       = 1 << 1
	gfpHigh          = 1 << 5
	gfpIO            = 1 << 6
	gfpFS            = 1 << 7
	gfpDirectReclaim = 1 << 10
	gfpKswapdReclaim = 1 << 11
	gfpNowarn        = 1 << 13
	gfpComp          = 1 << 18
	gfpNomemalloc    = 1 << 19
	gfpHardwall      = 1 << 20
	gfpSkipKasan     = 1 << 25

	gfpReclaim        = gfpDirectReclaim | gfpKswapdReclaim
	gfpKernel         = gfpReclaim | gfpIO | gfpFS
	gfpUser           = gfpKernel | gfpHardwall
	gfpMovable        = gfpUser | gfpHighmem | 1<<3 | gfpSkipKasan
	gfpTranshugeLight = (gfpMovable | gfpComp | gfpNomemalloc | gfpNowarn) &^ gfpReclaim
)

// appendGFP names the bits as the kernel's %pGg does; the rest is shown in hexadecimal.
func appendGFP(dst []byte, flags uint64) []byte {
	if flags == 0 {
		return append(dst, '0')
	}
	start := len(dst)
	for i := range gfpFlags {
		f := &gfpFlags[i]
		if flags&f.mask != f.mask {
			continue
		}
		flags &^= f.mask
		if len(dst) > start {
			dst = append(dst, '|')
		}
		dst = append(dst, f.name...)
	}
	if flags != 0 {
		if len(dst) > start {
			dst = append(dst, '|')
		}
		dst = appendAddr(dst, flags)
	}
	return dst
}
