package match

import (
	"strconv"
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
libvirt:event_poll_add_handle watch fd events callback opaque free
libvirt:event_poll_update_handle,event_poll_dispatch_handle watch events
libvirt:event_poll_remove_handle,event_poll_purge_handle watch
libvirt:event_poll_add_timeout timer frequency callback opaque free
libvirt:event_poll_update_timeout timer frequency
libvirt:event_poll_remove_timeout,event_poll_dispatch_timeout,event_poll_purge_timeout timer
libvirt:event_poll_run descriptors timeout
libvirt:object_new object class*
libvirt:object_ref,object_unref,object_dispose object
libvirt:rpc_socket_new socket fd error_fd pid local* remote*
libvirt:rpc_socket_send_fd,rpc_socket_recv_fd socket fd
libvirt:rpc_server_client_new,rpc_client_new client socket
libvirt:rpc_server_client_msg_tx_queue,rpc_server_client_msg_rx client length program version procedure type status serial
libvirt:rpc_client_msg_tx_queue,rpc_client_msg_rx client length program version procedure type status serial
libvirt:rpc_server_client_auth_allow,rpc_server_client_auth_deny client method identity*
libvirt:rpc_server_client_auth_fail client method
libvirt:rpc_tls_context_new context ca* revoked* certificate* key* check require server
libvirt:rpc_tls_context_session_allow,rpc_tls_context_session_deny context session name*
libvirt:rpc_tls_context_session_fail context session
libvirt:rpc_tls_session_new session context host* server
libvirt:rpc_tls_session_handshake_pass,rpc_tls_session_handshake_fail session
libvirt:rpc_keepalive_new,rpc_keepalive_stop keepalive client
libvirt:rpc_keepalive_start keepalive client interval count
libvirt:rpc_keepalive_send,rpc_keepalive_received keepalive client program version procedure
libvirt:rpc_keepalive_timeout keepalive client left idle
node:net__server__connection,net__stream__end connection remote* port fd
node:http__server__response,http__client__response connection remote* port fd
node:http__server__request,http__client__request request connection remote* port method* url* fd
node:gc__start,gc__done type flags
node:gc__start,gc__done type flags isolate
`

// nameArguments gives the arguments of a probe their names, where its program is known and its note has all of them;
// else they are called by their numbers.
func nameArguments(sc *probe.Scope, provider, name string) {
	var known []string
	for line := range strings.Lines(tapsets) {
		words := strings.Fields(line)
		if len(words) != len(sc.ArgN)+1 {
			continue
		}
		if names, ok := strings.CutPrefix(words[0], provider+":"); ok && strings.Contains(","+names+",", ","+name+",") {
			known = words[1:]
		}
	}
	for i, place := range sc.ArgN {
		v := probe.Var{Name: "arg" + strconv.Itoa(i), Type: sc.ArgNTypes[i], Place: place}
		if known != nil {
			word, text := strings.CutSuffix(known[i], "*")
			if v.Name = word; text && v.Type.Size == 8 {
				v.Type = types.PointerTo(types.TChar, types.User)
			}
		}
		sc.Args = append(sc.Args, v)
	}
}
