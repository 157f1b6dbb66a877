{{/*
The parts, and who calls whom. Environment, Services and network policies follow
from this one table; a test holds it to the parts' settings.
*/}}
{{- define "reservation.parts" -}}
auth:      {serves: grpc, database: true,  bus: true,  credential: false, masterKey: true,  calls: []}
customer:  {serves: grpc, database: true,  bus: true,  credential: true,  masterKey: false, calls: [auth, booking, pass]}
booking:   {serves: grpc, database: true,  bus: true,  credential: true,  masterKey: false, calls: [auth, customer, pass]}
pass:      {serves: grpc, database: true,  bus: true,  credential: true,  masterKey: false, calls: [auth, customer]}
webhook:   {serves: grpc, database: true,  bus: true,  credential: true,  masterKey: true,  calls: [auth, customer]}
admin:     {serves: http, database: false, bus: false, credential: false, masterKey: false, calls: [auth, customer, booking, pass, webhook]}
gateway-a: {serves: http, database: false, bus: true,  credential: false, masterKey: false, calls: [auth, customer, booking]}
gateway-b: {serves: http, database: false, bus: true,  credential: false, masterKey: false, calls: [auth, customer, booking, pass]}
{{- end }}

{{/* The values of one part: its own over the defaults. Takes {root, part}. */}}
{{- define "reservation.values" -}}
{{- mergeOverwrite (deepCopy .root.Values.defaults) (deepCopy (index .root.Values.parts .part)) | toYaml }}
{{- end }}
