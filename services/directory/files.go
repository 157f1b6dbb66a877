package directory

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// files are the files of the maps, which HAProxy reads when it starts.
type files struct{ dir string }

// path returns the path of a map's file, by which HAProxy also names the map.
func (f files) path(m mapName) string { return filepath.Join(f.dir, string(m)+".map") }

// read returns the lines of a map's file. Without a file, there are none.
func (f files) read(m mapName) (map[string]string, error) {
	file, err := os.Open(f.path(m))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := map[string]string{}
	s := bufio.NewScanner(file)
	for s.Scan() {
		if key, value, found := strings.Cut(s.Text(), " "); found && !strings.HasPrefix(key, "#") {
			lines[key] = value
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path(m), err)
	}
	return lines, nil
}

// write replaces a map's file atomically.
func (f files) write(m mapName, lines []byte) error {
	temp, err := os.CreateTemp(f.dir, string(m)+".map.*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // after the rename, it does not exist
	_, err = temp.Write(lines)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if err == nil {
		err = temp.Sync()
	}
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), f.path(m))
}
