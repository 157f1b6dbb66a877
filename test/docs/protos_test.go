package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	_ "reservation.dev/proto/gen/reservation/auth/v1"
	_ "reservation.dev/proto/gen/reservation/booking/v1"
	_ "reservation.dev/proto/gen/reservation/customer/v1"
	_ "reservation.dev/proto/gen/reservation/edge/a/v1"
	_ "reservation.dev/proto/gen/reservation/edge/b/v1"
	_ "reservation.dev/proto/gen/reservation/edge/v1"
	_ "reservation.dev/proto/gen/reservation/pass/v1"
	_ "reservation.dev/proto/gen/reservation/privacy/v1"
	_ "reservation.dev/proto/gen/reservation/webhook/v1"
)

// TestGeneratedCode compares proto/gen with proto/ without the generators, which take
// minutes to build: the descriptors in the generated code must equal the files. make check
// runs the generators.
func TestGeneratedCode(t *testing.T) {
	dir := filepath.Join(root, "proto")
	var files []string
	err := fs.WalkDir(os.DirFS(dir), "reservation", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".proto") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no protos: %v", err)
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}})}
	compiled, err := compiler.Compile(t.Context(), files...)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range compiled {
		generated, err := protoregistry.GlobalFiles.FindFileByPath(file.Path())
		if err != nil {
			t.Errorf("%s is not generated: make generate", file.Path())
			continue
		}
		want, got := readAgain(t, protodesc.ToFileDescriptorProto(file)), protodesc.ToFileDescriptorProto(generated)
		want.Options, got.Options = nil, nil // go_package is the generators' setting
		if !proto.Equal(want, got) {
			t.Errorf("%s has changed since it was generated: make generate\n%s", file.Path(), firstDifference(prototext.Format(want), prototext.Format(got)))
		}
	}
}

// readAgain returns a file with its options in the Go types of their extensions.
func readAgain(t *testing.T, file *descriptorpb.FileDescriptorProto) *descriptorpb.FileDescriptorProto {
	t.Helper()
	raw, err := proto.Marshal(file)
	again := &descriptorpb.FileDescriptorProto{}
	if err == nil {
		err = proto.Unmarshal(raw, again)
	}
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return "the file has " + w[i] + ", the code " + g[i]
		}
	}
	return "one of them goes on"
}
