package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"

	"trocar/result"
)

// Families of sockets (include/linux/socket.h) whose addresses are shown.
const (
	afUnspec  = 0
	afUnix    = 1
	afInet    = 2
	afNetlink = 16
	afVSock   = 40
)

// socketAddress shows the bytes of a struct sockaddr, of which it is told that there are n, as they are written:
// 127.0.0.1:80, [::1]:80, "/run/socket", "@name".
func (d *Decoder) socketAddress(v *result.Value, b []byte, n uint64) {
	v.Kind = result.Address
	if len(b) > 2 && binary.LittleEndian.Uint16(b) == afUnix {
		path := b[2:]
		if path[0] == 0 { // abstract: every byte belongs to the name
			d.string(v, append([]byte{'@'}, path[1:]...), false)
			return
		}
		if end := bytes.IndexByte(path, 0); end >= 0 {
			path = path[:end]
		}
		d.string(v, path, false)
		return
	}
	v.Text = socketAddress(b, n)
}

func socketAddress(b []byte, n uint64) string {
	if len(b) < 2 {
		return fmt.Sprintf("an address of %d bytes", n)
	}
	native, network := binary.LittleEndian, binary.BigEndian
	family := native.Uint16(b)
	switch {
	case family == afUnspec:
		return "AF_UNSPEC"
	case family == afUnix:
		return "AF_UNIX"
	case family == afInet && len(b) >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), network.Uint16(b[2:])).String()
	case family == AFInet6 && len(b) >= 24:
		addr := netip.AddrFrom16([16]byte(b[8:24]))
		if len(b) >= 28 {
			if scope := native.Uint32(b[24:]); scope != 0 {
				addr = addr.WithZone(strconv.FormatUint(uint64(scope), 10))
			}
		}
		return netip.AddrPortFrom(addr, network.Uint16(b[2:])).String()
	case family == afNetlink && len(b) >= 12:
		return fmt.Sprintf("netlink:%d/%#x", native.Uint32(b[4:]), native.Uint32(b[8:]))
	case family == afVSock && len(b) >= 12:
		return fmt.Sprintf("vsock:%d:%d", native.Uint32(b[8:]), native.Uint32(b[4:]))
	}
	return fmt.Sprintf("family %d, %d bytes", family, n)
}
