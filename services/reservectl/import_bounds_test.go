package reservectl

import (
	"errors"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"reservation.dev/platform/bounds"
)

func TestImportEndsIfBoundsCannotBeRead(t *testing.T) {
	t.Parallel()
	options := &descriptorpb.FieldOptions{}
	proto.SetExtension(options, validate.E_Field, validate.FieldRules_builder{
		String: validate.StringRules_builder{MaxLen: proto.Uint64(1)}.Build(), // a rule for strings on a number
	}.Build())
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("wrong.proto"), Syntax: proto.String("proto3"), Package: proto.String("wrong"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Wrong"), Field: []*descriptorpb.FieldDescriptorProto{{
			Name: proto.String("n"), Number: proto.Int32(1), Options: options,
			Type:  descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum(),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}}}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	checker, err := bounds.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	next := withinBounds(checker, func() (item[*dynamicpb.Message], error) {
		return item[*dynamicpb.Message]{value: dynamicpb.NewMessage(file.Messages().Get(0))}, nil
	})
	_, err = next()
	var refused refusal
	if err == nil || errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}
