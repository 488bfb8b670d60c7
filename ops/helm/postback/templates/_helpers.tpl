{{- define "postback.image" -}}
{{ with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end }}

{{- define "postback.selector" -}}
app.kubernetes.io/name: postback
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "postback.labels" -}}
{{ include "postback.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "postback.name" -}}
{{ .root.Release.Name }}-{{ .component }}
{{- end }}

{{/* The secrets that each component uses. */}}
{{- define "postback.secretsOf" -}}
{{- $temporal := list "TEMPORAL_API_KEY" "POSTBACK_TEMPORAL_CODEC_KEYS" -}}
{{- $storage := list "MONGODB_URI" "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" -}}
{{- $search := list "POSTBACK_SEARCH_URL" -}}
{{- $names := dict
  "api" (concat $temporal $storage $search (list "POSTBACK_SEALING_KEY" "POSTBACK_CALLBACK_PROXY" "POSTBACK_EMBEDDINGS_KEY" "POSTBACK_PREVIOUS_EMBEDDINGS_KEY" "POSTBACK_RERANK_KEY" "POSTBACK_OPERATOR_TOKEN"))
  "content" (concat $temporal $storage $search (list "POSTBACK_OPENAI_KEY" "POSTBACK_EMBEDDINGS_KEY" "POSTBACK_PREVIOUS_EMBEDDINGS_KEY"))
  "ai" (concat $temporal $storage (list "POSTBACK_OPENAI_KEY"))
  "crews" (concat $temporal $storage $search (list "POSTBACK_OPENAI_KEY" "POSTBACK_CREW_TOOL_SECRETS" "POSTBACK_EMBEDDINGS_KEY" "POSTBACK_PREVIOUS_EMBEDDINGS_KEY" "POSTBACK_RERANK_KEY"))
  "connectors" (concat $temporal $storage (list "POSTBACK_SEALING_KEY"))
  "deliveries" (concat $temporal $storage (list "POSTBACK_SEALING_KEY" "POSTBACK_CALLBACK_PROXY" "POSTBACK_OPERATOR_WEBHOOK_SECRET"))
  "control" (concat $temporal $storage $search (list "POSTBACK_EMBEDDINGS_KEY" "POSTBACK_PREVIOUS_EMBEDDINGS_KEY"))
  "promote" $temporal
  "embedder" (list) -}}
{{- get $names . | toJson -}}
{{- end }}

{{/* Secrets by reference, then the settings of the component. */}}
{{- define "postback.environment" -}}
{{- $root := .root -}}
{{- range $name := include "postback.secretsOf" .component | fromJsonArray }}
{{- with get $root.Values.secrets $name }}
- name: {{ $name }}
  valueFrom: { secretKeyRef: { name: {{ .name | quote }}, key: {{ .key | quote }} } }
{{- end }}
{{- end }}
{{- range $name, $value := .settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* What all pods share. */}}
{{- define "postback.pod" -}}
serviceAccountName: {{ .root.Release.Name }}
automountServiceAccountToken: false
# Otherwise Kubernetes sets POSTBACK_API_PORT=tcp://… in all pods for the service postback-api, and no process starts with it.
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: { matchLabels: {{ include "postback.selector" . | fromYaml | toJson }} }
volumes:
  # Temporary files, on disk because they may be large.
  - { name: tmp, emptyDir: {} }
  - { name: data, emptyDir: {} }
{{- with .root.Values.temporal.tlsSecret }}
  - { name: temporal-tls, secret: { secretName: {{ . | quote }} } }
{{- end }}
{{- range $crew, $configMap := .root.Values.crews }}
  - { name: {{ printf "crew-%s" $crew | quote }}, configMap: { name: {{ $configMap | quote }} } }
{{- end }}
{{- end }}

{{- define "postback.container" -}}
image: {{ include "postback.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
envFrom: [{ configMapRef: { name: {{ .root.Release.Name | quote }} } }]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: tmp, mountPath: /tmp }
  - { name: data, mountPath: /var/lib/postback }
{{- if .root.Values.temporal.tlsSecret }}
  - { name: temporal-tls, mountPath: /etc/postback/temporal-tls, readOnly: true }
{{- end }}
{{- range $crew, $configMap := .root.Values.crews }}
  - { name: {{ printf "crew-%s" $crew | quote }}, mountPath: {{ printf "/etc/postback/crews/%s" $crew | quote }}, readOnly: true }
{{- end }}
{{- end }}

{{/* One pod at a time may be evicted. */}}
{{- define "postback.disruption" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "postback.name" . }}
  labels: {{ include "postback.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector: { matchLabels: {{ include "postback.selector" . | fromYaml | toJson }} }
{{- end }}
