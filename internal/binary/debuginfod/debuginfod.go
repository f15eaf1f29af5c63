// Package debuginfod fetches debug files by build id from the servers of a distribution, as debuginfod-find does, and
// shares its cache (debuginfod-client-config(7)).
//
//	servers := debuginfod.FromEnv(os.Getenv)
//	path, err := servers.DebugFile(ctx, buildID)
//
// A wait for a server ends with the context. Servers are not trusted: a file comes into the cache only when it is
// whole, not too large, and of the build id that was asked for.
package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/opener"
)

// Servers are the settings: which servers are asked, and how. The zero value, and nil, ask none.
type Servers struct {
	URLs    []string      // http:, https: or file:, asked in this order
	Cache   string        // directory
	Timeout time.Duration // for a server to begin or go on sending
	MaxSize int64         // of a file, in bytes
	MaxTime time.Duration // for a whole file
}

// Limits where the environment has none.
const (
	defaultTimeout = 90 * time.Second
	defaultMaxTime = 10 * time.Minute
	defaultMaxSize = 8 << 30
	// missFor is how long it is remembered that no server has a file.
	missFor = 10 * time.Minute
)

// FromEnv reads DEBUGINFOD_URLS and the variables beside it. It returns nil if no servers are named.
func FromEnv(getenv func(string) string) *Servers {
	var urls []string
	for _, u := range strings.Fields(getenv("DEBUGINFOD_URLS")) {
		if strings.HasPrefix(u, "http://") || strings.HasPrefix(u, "https://") || strings.HasPrefix(u, "file://") {
			urls = append(urls, strings.TrimSuffix(u, "/"))
		}
	}
	if urls == nil {
		return nil
	}
	d := &Servers{URLs: urls, Timeout: defaultTimeout, MaxTime: defaultMaxTime, MaxSize: defaultMaxSize}
	if s, err := strconv.Atoi(getenv("DEBUGINFOD_TIMEOUT")); err == nil && s > 0 {
		d.Timeout = time.Duration(s) * time.Second
	}
	if s, err := strconv.Atoi(getenv("DEBUGINFOD_MAXTIME")); err == nil && s > 0 {
		d.MaxTime = time.Duration(s) * time.Second
	}
	if n, err := strconv.ParseInt(getenv("DEBUGINFOD_MAXSIZE"), 10, 64); err == nil && n > 0 {
		d.MaxSize = n
	}
	home := getenv("HOME")
	switch {
	case getenv("DEBUGINFOD_CACHE_PATH") != "":
		d.Cache = getenv("DEBUGINFOD_CACHE_PATH")
	case home != "" && isDir(filepath.Join(home, ".debuginfod_client_cache")):
		d.Cache = filepath.Join(home, ".debuginfod_client_cache")
	case getenv("XDG_CACHE_HOME") != "":
		d.Cache = filepath.Join(getenv("XDG_CACHE_HOME"), "debuginfod_client")
	case home != "":
		d.Cache = filepath.Join(home, ".cache", "debuginfod_client")
	default:
		d.Cache = filepath.Join(os.TempDir(), "debuginfod_client-"+strconv.Itoa(os.Getuid()))
	}
	return d
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// errNoFile is what a server says that doesn't have a file.
var errNoFile = errors.New("the server has no such file")

// DebugFile returns the path of the debug file of a build id, from the cache or else from the first server that has it.
// It waits for servers no longer than ctx; then the error is the context's, wrapped.
func (d *Servers) DebugFile(ctx context.Context, buildID string) (string, error) {
	if d == nil || len(d.URLs) == 0 {
		return "", fmt.Errorf("debug info of build id %s: no server is named", buildID)
	}
	if buildID == "" || len(buildID) > 128 || strings.Trim(buildID, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is no build id", buildID)
	}
	dir := filepath.Join(d.Cache, buildID)
	path := filepath.Join(dir, "debuginfo")
	if fi, err := os.Stat(path); err == nil {
		if fi.Size() > 0 {
			return path, nil
		}
		if time.Since(fi.ModTime()) < missFor {
			return "", fmt.Errorf("debug info of build id %s: %w", buildID, errNoFile)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var errs []error
	missing := true
	for _, base := range d.URLs {
		err := d.fetch(ctx, base, buildID, dir, path)
		if err == nil {
			return path, nil
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("debug info of build id %s: %s: %w", buildID, base, ctx.Err())
		}
		missing = missing && errors.Is(err, errNoFile)
		errs = append(errs, fmt.Errorf("%s: %w", base, err))
	}
	if missing {
		// An empty file without rights is how debuginfod-find remembers it too.
		os.WriteFile(path, nil, 0o000)
	}
	return "", fmt.Errorf("debug info of build id %s: %w", buildID, errors.Join(errs...))
}

// fetch gets a file from one server. It comes to its place in the cache only when it is whole and what was asked for.
func (d *Servers) fetch(ctx context.Context, base, buildID, dir, path string) error {
	ctx, cancel := context.WithTimeout(ctx, d.MaxTime)
	defer cancel()
	body, err := d.get(ctx, cancel, base, buildID)
	if err != nil {
		return err
	}
	defer body.Close()
	tmp, err := os.CreateTemp(dir, "debuginfo.part-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	n, err := io.Copy(tmp, io.LimitReader(body, d.MaxSize+1))
	if err != nil {
		return err
	}
	if n > d.MaxSize {
		return fmt.Errorf("the file is larger than %d bytes (DEBUGINFOD_MAXSIZE)", d.MaxSize)
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	f, err := objfile.Open(tmp.Name())
	if err != nil {
		return fmt.Errorf("it sent something else: %w", err)
	}
	id := f.BuildID()
	f.Close()
	if id != buildID {
		return fmt.Errorf("it sent the file of build id %q", id)
	}
	if err := os.Chmod(tmp.Name(), 0o400); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// get begins to read a file.
func (d *Servers) get(ctx context.Context, cancel func(), base, buildID string) (io.ReadCloser, error) {
	if dir, ok := strings.CutPrefix(base, "file://"); ok {
		f, err := opener.Root{}.Open(filepath.Join(dir, "buildid", buildID, "debuginfo"))
		if errors.Is(err, os.ErrNotExist) {
			return nil, errNoFile
		}
		return f, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/buildid/"+url.PathEscape(buildID)+"/debuginfo", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "trocar")
	// A server that falls silent is given up.
	silent := time.AfterFunc(d.Timeout, cancel)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		silent.Stop()
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		err = errNoFile
	default:
		err = errors.New(resp.Status)
	}
	if err != nil || resp.ContentLength > d.MaxSize {
		silent.Stop()
		resp.Body.Close()
		if err == nil {
			err = fmt.Errorf("the file has %d bytes, more than %d (DEBUGINFOD_MAXSIZE)", resp.ContentLength, d.MaxSize)
		}
		return nil, err
	}
	return &watched{resp.Body, silent, d.Timeout}, nil
}

// watched puts the end off whenever something comes.
type watched struct {
	io.ReadCloser
	silent  *time.Timer
	timeout time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 {
		w.silent.Reset(w.timeout)
	}
	return n, err
}

func (w *watched) Close() error {
	w.silent.Stop()
	return w.ReadCloser.Close()
}
