package record

import "encoding/binary"

// User stacks are walked by tables that user space makes of the files that processes map (package unwind). Programs
// find them in these maps.
const (
	UnwindRules = "unwind_rules" // an array's value: the rules of all tables
	UnwindNear  = "unwind_near"  // an array's value: the first words of all tables; each table is among them, or behind
	UnwindWords = "unwind_words" // an array of arrays, each with one value: a piece of the words, from UnwindNearWords on
	UnwindFiles = "unwind_files" // tables of files, by what the kernel knows them by
	UnwindAreas = "unwind_areas" // an array's value: what the programs have seen to be mapped
	UnwindSeen  = "unwind_seen"  // an array's value: the rules that were found last, by table and place
	UnwindAsked = "unwind_asked" // an array's value: of which processes files were asked for lately
	UnwindFile  = "unwind_file"  // an array's value, and the program that fills it in: see UnwindFileKey
)

// Sizes of what is in them.
const (
	UnwindRulesSize = 1 << 19 // 65536 rules of 8 bytes
	UnwindNearWords = 1 << 18
	UnwindChunkSize = 1 << 18 // 65536 words
	UnwindChunks    = 256
	UnwindSlack     = 1 << 10 // behind words of which one was found: a search may look at those of a block behind it
	UnwindAreasSize = 64 * 4096
	UnwindSeenSize  = 16 * 4096
	UnwindAskedSize = 8 * 256
)

// A file's key is u64 inode, u64 device, u64 size, u64 seconds and u32 nanoseconds of the last change, u32 generation
// of the inode. Only the kernel knows what a mapping has there, since file systems may tell others. UnwindFile is u64
// address of a mapping, and has the key of its file behind the program has run.
const (
	FileKeySize    = 40
	UnwindFileSize = 384
	UnwindFileKey  = 40
)

// VirtualKey is the key of the virtual library that the kernel maps into every process, of a size.
func VirtualKey(size uint64) []byte {
	b := make([]byte, FileKeySize)
	binary.LittleEndian.PutUint64(b[8:], VirtualDevice)
	binary.LittleEndian.PutUint64(b[16:], size)
	return b
}

// VirtualDevice is no device.
const VirtualDevice = 1<<64 - 1

// FileSize is the size of what is known of a file.
const FileSize = 16

// FileTable is that: u64 what an offset in the file is less than what the table counts from its lowest address, u32
// index of the table's first word, u32 bytes of code that it is for. Length 0: the file has no table.
func FileTable(bias uint64, table, length uint32) []byte {
	b := binary.LittleEndian.AppendUint64(nil, bias)
	b = binary.LittleEndian.AppendUint32(b, table)
	return binary.LittleEndian.AppendUint32(b, length)
}

// ExactFrame is the bit of a stack's address that says that the address is no return address: a signal has interrupted
// the program there.
const ExactFrame = 1 << 63
