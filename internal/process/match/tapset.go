package match

import (
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
)

// tapsets name the arguments of probes that are built into well-known programs: "provider:probe argument …", where a
// name with a star is the address of a text that ends with a NUL. Probes of the same arguments stand together, without
// the provider.
const tapsets = `
python:function__entry,function__return,line file* function* line
python:gc__start generation
python:gc__done collected
python:import__find__load__start module*
python:import__find__load__done module* found
python:audit event* arguments
hotspot:class__loaded,class__unloaded class class_length loader shared
hotspot:class__initialization__required class class_length loader thread_type
hotspot:class__initialization__recursive,class__initialization__concurrent class class_length loader thread_type wait
hotspot:class__initialization__erroneous class class_length loader thread_type wait
hotspot:class__initialization__super__failed,class__initialization__clinit class class_length loader thread_type wait
hotspot:class__initialization__error,class__initialization__end class class_length loader thread_type wait
hotspot:gc__begin full
hotspot:mem__pool__gc__begin,mem__pool__gc__end manager manager_length pool pool_length initial used committed maximum
hotspot:thread__start,thread__stop name name_length java_id native_id daemon
hotspot:thread__park__begin parker absolute time
hotspot:thread__park__end parker
hotspot:method__compile__begin compiler compiler_length class class_length method method_length signature signature_length
hotspot:method__compile__end compiler compiler_length class class_length method method_length signature signature_length success
hotspot:compiled__method__load class class_length method method_length signature signature_length code size
hotspot:compiled__method__unload class class_length method method_length signature signature_length
hotspot:monitor__contended__enter,monitor__contended__entered,monitor__contended__exit thread monitor class class_length
hotspot:monitor__notify,monitor__notifyAll,monitor__waited thread monitor class class_length
hotspot:monitor__wait thread monitor class class_length timeout
hotspot:object__alloc thread class class_length size
hotspot:method__entry,method__return thread class class_length method method_length signature signature_length
hotspot:vmops__request,vmops__begin,vmops__end operation operation_length mode
libc:memory_heap_new,memory_heap_more,memory_heap_less,memory_heap_free heap size
libc:memory_sbrk_more,memory_sbrk_less address size
libc:memory_arena_new arena size
libc:memory_arena_reuse arena previous
libc:memory_malloc_retry,memory_calloc_retry size
libc:memory_realloc_retry size address
libc:memory_memalign_retry size alignment
libc:setjmp,longjmp,longjmp_target buffer value address
libc:lll_lock_wait_private,lll_lock_wait,mutex_init,mutex_destroy,mutex_acquired,mutex_entry,mutex_release address
postgresql:transaction__start,transaction__commit,transaction__abort transaction
postgresql:query__start,query__done,query__parse__start,query__parse__done,query__rewrite__start,query__rewrite__done text*
postgresql:statement__status text*
postgresql:lwlock__acquire,lwlock__wait__start,lwlock__wait__done lock* mode
postgresql:lwlock__condacquire,lwlock__condacquire__fail,lwlock__acquire__or__wait,lwlock__acquire__or__wait__fail lock* mode
postgresql:lwlock__release lock*
postgresql:sort__start kind unique keys memory random
postgresql:sort__start kind unique keys memory random parallel
postgresql:sort__done external used
`

// nameArguments gives the arguments of a probe their names, where its program is known and its note has all of them.
func nameArguments(sc *probe.Scope, provider, name string) {
	for line := range strings.Lines(tapsets) {
		words := strings.Fields(line)
		if len(words) != len(sc.ArgN)+1 {
			continue
		}
		names, ok := strings.CutPrefix(words[0], provider+":")
		if !ok || !strings.Contains(","+names+",", ","+name+",") {
			continue
		}
		for i, word := range words[1:] {
			word, text := strings.CutSuffix(word, "*")
			v := probe.Var{Name: word, Type: sc.ArgNTypes[i], Place: sc.ArgN[i]}
			if text && v.Type.Size == 8 {
				v.Type = types.PointerTo(types.TChar, types.User)
			}
			sc.Args = append(sc.Args, v)
		}
		return
	}
}
