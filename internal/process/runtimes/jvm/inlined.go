package jvm

import (
	"errors"
	"slices"
	"strings"
)

// Compiled code of other methods may have that of a method in it, so that calls of it by these do not come by its own
// code. For each place where it may be stopped compiled code has the methods that are then active, in a stream of
// numbers (DebugInformationRecorder, debugInfoRec.hpp).

// Fields of the code cache, as names has them.
const cacheNames = "CodeCache::_heaps GrowableArrayBase::_len,GenericGrowableArray::_len GrowableArray<int>::_data " +
	"CodeHeap::_memory VirtualSpace::_low VirtualSpace::_high CodeHeap::_log2_segment_size HeapBlock::Header::_length " +
	"HeapBlock::Header::_used CodeBlob::_name CodeBlob::_size nmethod::_state " +
	"nmethod::_metadata_offset,CodeBlob::_relocation_size " +
	"CompiledMethod::_scopes_data_begin,nmethod::_scopes_data_offset nmethod::_scopes_pcs_offset " +
	"nmethod::_dependencies_offset,nmethod::_immutable_data_size " +
	"nmethod::_immutable_data,CodeBlob::_name CodeBlob::_mutable_data,CodeBlob::_name " +
	"CodeBlob::_mutable_data_size,CodeBlob::_name"

const (
	heaps = iota
	arrayLen
	arrayData
	heapMemory
	spaceLow
	spaceHigh
	heapSegment
	blockLength
	blockUsed
	blobName
	blobSize
	codeState
	codeMetadata
	codeScopes
	codePlaces
	codePlacesEnd
	codeApart // with JDK 25, what the code's tables are in, and those numbers in it that the collector may change
	codeMutable
	codeMutableSize
	cacheFields
)

// cache is where the code cache is described.
type cache struct {
	off          [cacheFields]uint64
	block, place uint64 // sizes of what is in front of code, and of what describes a place
	excluded     uint64 // bytes that numbers in streams never have
	lengthSize   int    // of the number of segments of a block
	apart        bool   // the tables are not in the code itself (JDK 25)
	err          error  // why it cannot be looked at
}

func (v *machine) describeCache(d *described) {
	c := &v.cache
	for i, name := range strings.Fields(cacheNames) {
		c.off[i] = d.field(name)
	}
	c.lengthSize = int(min(8, c.off[blockUsed]-c.off[blockLength])) // they are one behind the other
	c.block, c.place = d.size("HeapBlock"), d.size("PcDesc")
	if _, later := d.fields["InstanceKlass::_fieldinfo_stream"]; later {
		c.excluded = 1
	}
	_, c.apart = d.fields["CodeBlob::_mutable_data"]
	if c.err = d.err(); !c.apart {
		if _, between := d.fields["nmethod::_immutable_data"]; between {
			c.err = errors.New("where this version of Java has that is not known")
		}
	}
	d.missing = ""
}

// inlined finds the methods whose compiled code has that of a method in it.
func (v *machine) inlined(m *method) (into []string, err error) {
	c := &v.cache
	if c.err != nil {
		return nil, c.err
	}
	v.m.Forget()
	all := v.m.Word(c.off[heaps])
	list := v.m.Word(all + c.off[arrayData])
	const mostHeaps, mostBlocks = 16, 1 << 20
	for i := range min(v.m.Number(all+c.off[arrayLen], 4), mostHeaps) {
		heap := v.m.Word(list + 8*i)
		at, end := v.m.Word(heap+c.off[heapMemory]+c.off[spaceLow]), v.m.Word(heap+c.off[heapMemory]+c.off[spaceHigh])
		shift := v.m.Number(heap+c.off[heapSegment], 4) & 31
		for range mostBlocks {
			if at == 0 || at >= end {
				break
			}
			n := v.m.Number(at+c.off[blockLength], c.lengthSize) << shift
			if v.m.Number(at+c.off[blockUsed], 1) != 0 && v.m.Text(v.m.Word(at+c.block+c.off[blobName])) == "nmethod" {
				if owner := v.m.Word(at + c.block + v.off[methodOf]); v.has(at+c.block, owner, m.at) {
					if name := v.methodName(owner); !slices.Contains(into, name) {
						into = append(into, name)
					}
				}
			}
			if n == 0 {
				break
			}
			at += n
		}
	}
	if v.m.Cut() {
		err = errors.New("there is more compiled code than is looked at")
	}
	return into, err
}

// methodName is the whole name of a method.
func (v *machine) methodName(method uint64) string {
	name, _, _ := v.declared(method)
	pool := v.m.Word(v.m.Word(method+v.off[constMethod]) + v.off[poolOf])
	return strings.ReplaceAll(v.name(v.m.Word(pool+v.off[poolHolder])), "/", ".") + "." + name
}

// codeTables are where the tables of a piece of code are.
type codeTables struct{ metadata, metadataEnd, scopes, scopesEnd, places, placesEnd uint64 }

// tables finds them, of code that is in use.
func (v *machine) tables(code uint64) (t codeTables, ok bool) {
	c := &v.cache
	number := func(name, size int) uint64 { return v.m.Number(code+c.off[name], size) }
	const most = 64 << 20
	if number(codeState, 1) != 0 || number(blobSize, 4) > most {
		return t, false
	}
	if c.apart {
		from, size := number(codeApart, 8), number(codePlacesEnd, 4)
		t.places, t.placesEnd = from+number(codePlaces, 4), from+number(codeScopes, 4)
		t.scopes, t.scopesEnd = t.placesEnd, from+size
		from = number(codeMutable, 8)
		t.metadata, t.metadataEnd = from+number(codeMetadata, 4), from+number(codeMutableSize, 4)
		return t, size <= most && t.places <= t.placesEnd && t.scopes <= t.scopesEnd && t.metadata <= t.metadataEnd &&
			t.metadataEnd-t.metadata <= most
	}
	t.metadata, t.scopes = code+number(codeMetadata, 4), number(codeScopes, 8)
	t.places, t.placesEnd = code+number(codePlaces, 4), code+number(codePlacesEnd, 4)
	t.metadataEnd, t.scopesEnd = t.scopes, t.places
	return t, t.metadata <= t.scopes && t.scopes <= t.places && t.places <= t.placesEnd &&
		t.placesEnd <= code+number(blobSize, 4)
}

// has tells whether the compiled code of a method has that of another one in it, and is in use.
func (v *machine) has(code, owner, method uint64) bool {
	c := &v.cache
	number := uint64(0) // of the method among those that the code refers to, counted from 1 on
	t, ok := v.tables(code)
	if !ok {
		return false
	}
	for i := range (t.metadataEnd - t.metadata) / 8 {
		if v.m.Word(t.metadata+8*i) == method {
			number = i + 1
		}
	}
	if number == 0 {
		return false
	}
	for at := t.places; at+c.place <= t.placesEnd; at += c.place {
		// A scope has where that of its caller is, 0 if there is none, and the number of its method.
		scope := v.m.Number(at+4, 4)
		for depth := 0; scope != 0 && scope < t.scopesEnd-t.scopes && depth < 100; depth++ {
			var text [10]byte
			if !v.m.Read(text[:], t.scopes+scope) {
				break
			}
			rest := text[:]
			caller, of := unsigned5(&rest, c.excluded), unsigned5(&rest, c.excluded)
			if of == number && caller != 0 {
				return true
			}
			scope = caller
		}
	}
	return false
}

// unsigned5 takes a number off a stream (compressedStream.hpp, unsigned5.hpp).
func unsigned5(text *[]byte, excluded uint64) (n uint64) {
	const high, shift, most = 64, 6, 5
	low := 256 - high - excluded
	for i := range most {
		if len(*text) == 0 || uint64((*text)[0]) < excluded {
			*text = nil
			return 0
		}
		b := uint64((*text)[0])
		*text = (*text)[1:]
		n += (b - excluded) << (shift * i)
		if b < excluded+low {
			break
		}
	}
	return n
}
