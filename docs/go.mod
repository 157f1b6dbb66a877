module reservation.dev/docs

go 1.26.0

require (
	github.com/alecthomas/chroma/v2 v2.27.0
	github.com/yuin/goldmark v1.8.7
	go.yaml.in/yaml/v3 v3.0.6
	reservation.dev/gateway-a v0.0.0
	reservation.dev/gateway-b v0.0.0
	reservation.dev/platform v0.0.0
	reservation.dev/services v0.0.0
)

require github.com/dlclark/regexp2/v2 v2.2.1 // indirect

replace (
	reservation.dev/devkit => ../devkit
	reservation.dev/gateway-a => ../gateway-a
	reservation.dev/gateway-b => ../gateway-b
	reservation.dev/platform => ../platform
	reservation.dev/proto => ../proto
	reservation.dev/services => ../services
)
