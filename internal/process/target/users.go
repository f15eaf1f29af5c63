package target

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// Users names user ids by /etc/passwd of our own root. The zero value is ready. Users of a directory service (LDAP) are
// not known to it.
type Users struct {
	names   map[uint32]string
	checked time.Time
	changed time.Time // modification time of the file that names is of
}

// passwdCheck is how old what we know may be.
const passwdCheck = time.Second

// maxPasswd bounds the file that is read.
const maxPasswd = 64 << 20

// Name is the name of a user, or "" and false.
func (u *Users) Name(uid uint32) (string, bool) {
	if now := time.Now(); u.names == nil || now.Sub(u.checked) > passwdCheck {
		u.checked = now
		const file = "/etc/passwd"
		st, err := os.Stat(file)
		if err == nil && (u.names == nil || !st.ModTime().Equal(u.changed)) {
			if text, err := readLimited(file, nil, maxPasswd); err == nil {
				u.names, u.changed = parsePasswd(text), st.ModTime()
			}
		}
		if u.names == nil {
			u.names = map[uint32]string{}
		}
	}
	name, ok := u.names[uid]
	return name, ok
}

// parsePasswd reads lines of "name:password:uid:…" (passwd(5)). The first of several names of an id counts.
func parsePasswd(text []byte) map[uint32]string {
	names := map[uint32]string{}
	for line := range bytes.Lines(text) {
		f := bytes.SplitN(line, []byte{':'}, 4)
		if len(f) < 4 || len(f[0]) == 0 {
			continue
		}
		n, err := strconv.ParseUint(string(f[2]), 10, 32)
		if err != nil {
			continue
		}
		if _, known := names[uint32(n)]; !known {
			names[uint32(n)] = string(f[0])
		}
	}
	return names
}
