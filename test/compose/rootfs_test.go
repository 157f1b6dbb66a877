package compose

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// rootfs writes the files of an image as a tar archive. It stops at the first error.
type rootfs struct {
	tar  *tar.Writer
	have map[string]bool
	err  error
}

func newRootfs(w io.Writer) *rootfs { return &rootfs{tar: tar.NewWriter(w), have: map[string]bool{}} }

func (r *rootfs) close() error {
	if r.err != nil {
		return r.err
	}
	return r.tar.Close()
}

func (r *rootfs) header(h tar.Header) bool {
	h.Name = strings.TrimPrefix(h.Name, "/")
	if r.err != nil || r.have[h.Name] {
		return false
	}
	r.have[h.Name] = true
	r.err = r.tar.WriteHeader(&h)
	return r.err == nil
}

// dir adds a directory.
func (r *rootfs) dir(path string, mode int64, owner int) {
	r.header(tar.Header{Typeflag: tar.TypeDir, Name: path + "/", Mode: mode, Uid: owner, Gid: owner})
}

// link adds a symbolic link.
func (r *rootfs) link(path, target string) {
	r.header(tar.Header{Typeflag: tar.TypeSymlink, Name: path, Linkname: target, Mode: 0o777})
}

// text adds a file with the given content.
func (r *rootfs) text(path string, mode int64, content string) {
	if r.header(tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: mode, Size: int64(len(content))}) {
		_, r.err = io.WriteString(r.tar, content)
	}
}

// file adds a copy of a file of this machine, following links.
func (r *rootfs) file(path, from string) {
	if r.err != nil || r.have[strings.TrimPrefix(path, "/")] {
		return
	}
	f, err := os.Open(from)
	if err != nil {
		r.err = err
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		r.err = err
		return
	}
	if r.header(tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: int64(info.Mode().Perm()), Size: info.Size()}) {
		_, r.err = io.Copy(r.tar, f)
	}
}

// tree adds a copy of a directory of this machine, without the names for which skip returns true.
func (r *rootfs) tree(path, from string, skip func(name string) bool) {
	if r.err != nil {
		return
	}
	r.err = filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside := strings.TrimPrefix(name, from)
		switch {
		case skip != nil && skip(inside):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir():
			r.dir(path+inside, 0o755, 0)
		default:
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				r.file(path+inside, name)
			}
		}
		return r.err
	})
}

// program adds a program of this machine and the libraries that it loads.
func (r *rootfs) program(path, from string) {
	r.file(path, from)
	if r.err != nil {
		return
	}
	out, err := exec.Command("ldd", from).CombinedOutput()
	if err != nil {
		if strings.Contains(string(out), "not a dynamic executable") || strings.Contains(string(out), "statically linked") {
			return
		}
		r.err = fmt.Errorf("ldd %s: %w: %s", from, err, out)
		return
	}
	for line := range strings.SplitSeq(string(out), "\n") {
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "/") {
				r.file(word, word)
			}
		}
	}
}

// base adds the files that every image has: a shell and the usual utilities, the image's user,
// and writable directories.
func (r *rootfs) base(user string, id int) {
	r.file("/bin/busybox", "/bin/busybox")
	for _, name := range []string{"sh", "cat", "mkdir", "chmod", "rm", "sleep", "wget", "ls", "id"} {
		r.link("/bin/"+name, "busybox")
	}
	r.text("/etc/passwd", 0o644, fmt.Sprintf("root:x:0:0::/root:/bin/sh\n%s:x:%d:%d::/:/bin/sh\n", user, id, id))
	r.text("/etc/group", 0o644, fmt.Sprintf("root:x:0:\n%s:x:%d:\n", user, id))
	r.dir("/tmp", 0o1777, 0)
	r.dir("/var", 0o755, 0)
	r.dir("/var/tmp", 0o1777, 0)
}
