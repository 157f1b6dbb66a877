{{/*
The parts (services, gateways, dashboard) and the parts that each one calls. A part with
`files` stores files, and serves them over HTTP in addition to gRPC. Environment, Services and
network policies are derived from this table. A test compares it with the parts' settings.
*/}}
{{- define "reservation.parts" -}}
auth:         {serves: grpc, files: false, database: true,  bus: true,  credential: false, masterKey: true,  calls: [customer, booking, pass, subscription, media, reports, webhook]}
customer:     {serves: grpc, files: false, database: true,  bus: true,  credential: true,  masterKey: false, calls: [auth, booking, pass, subscription, media]}
booking:      {serves: grpc, files: false, database: true,  bus: true,  credential: true,  masterKey: false, calls: [auth, customer, pass]}
pass:         {serves: grpc, files: false, database: true,  bus: true,  credential: true,  masterKey: false, calls: [auth, customer]}
subscription: {serves: grpc, files: false, database: true,  bus: true,  credential: true,  masterKey: false, calls: [auth, customer, pass, media]}
media:        {serves: grpc, files: true,  database: true,  bus: true,  credential: true,  masterKey: true,  calls: [auth, customer, booking, pass, subscription]}
reports:      {serves: grpc, files: false, database: true,  bus: true,  credential: true,  masterKey: false, calls: [auth, customer, booking, pass, subscription]}
webhook:      {serves: grpc, files: false, database: true,  bus: true,  credential: true,  masterKey: true,  calls: [auth, customer]}
admin:        {serves: http, files: false, database: false, bus: false, credential: false, masterKey: false, calls: [auth, customer, booking, pass, subscription, media, reports, webhook]}
gateway-a:    {serves: http, files: false, database: false, bus: true,  credential: false, masterKey: false, calls: [auth, customer, booking, pass, subscription, media]}
gateway-b:    {serves: http, files: false, database: false, bus: true,  credential: false, masterKey: false, calls: [auth, customer, booking, pass, subscription, media, reports, webhook]}
{{- end }}

{{/* The values of a part: parts.<part> merged over defaults. Takes {root, part}. */}}
{{- define "reservation.values" -}}
{{- mergeOverwrite (deepCopy .root.Values.defaults) (deepCopy (index .root.Values.parts .part)) | toYaml }}
{{- end }}
