{{/* What all objects share. */}}
{{- define "kgsvc.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "kgsvc.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kgsvc.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "kgsvc.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Refuses what would stand open. */}}
{{- define "kgsvc.guarded" -}}
{{- $files := .Values.secret.files -}}
{{- $tls := and (hasKey $files "KGSVC_SERVER_TLS_CERT") (hasKey $files "KGSVC_SERVER_TLS_KEY") -}}
{{- $known := or (hasKey $files "KGSVC_ACCESS_FILE") (hasKey .Values.settings "KGSVC_ACCESS_JWT_KEYS") -}}
{{- if not (or .Values.allowPlaintext (and $tls $known)) -}}
{{- fail "set KGSVC_SERVER_TLS_CERT, KGSVC_SERVER_TLS_KEY and KGSVC_ACCESS_FILE in secret.files, or allowPlaintext=true if something else protects the port" -}}
{{- end -}}
{{- end }}

{{/* The Deployment of a role: (dict "root" $ "role" "api" "of" .Values.api) */}}
{{- define "kgsvc.deployment" -}}
{{- $ := .root -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "kgsvc.name" $ }}-{{ .role }}
  labels:
    {{- include "kgsvc.labels" $ | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  {{- if not (and (eq .role "worker") $.Values.autoscaling.enabled) }}
  replicas: {{ .of.replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "kgsvc.selector" $ | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
  template:
    metadata:
      labels:
        {{- include "kgsvc.labels" $ | nindent 8 }}
        app.kubernetes.io/component: {{ .role }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      # Calls, then streams (server.grace_s each), then batches (queue.drain_s).
      terminationGracePeriodSeconds: {{ add 75 $.Values.drainSeconds }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        seccompProfile: {type: RuntimeDefault}
      {{- with $.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $.Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $.Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "kgsvc.selector" $ | nindent 14 }}
              app.kubernetes.io/component: {{ .role }}
      containers:
        - name: kgsvc
          image: {{ include "kgsvc.image" $ | quote }}
          imagePullPolicy: {{ $.Values.image.pullPolicy }}
          env:
            - {name: KGSVC_SERVER_ROLE, value: {{ .role | quote }}}
            - {name: KGSVC_SERVER_PROCESSES, value: "1"}
            # The port of metrics and probes has no TLS; the network policy guards it.
            - {name: KGSVC_SERVER_INSECURE, value: "true"}
            {{- if and (eq .role "api") $.Values.service.http }}
            - {name: KGSVC_SERVER_HTTP_LISTEN, value: "0.0.0.0:8080"}
            {{- end }}
            - {name: KGSVC_STORE_KIND, value: neo4j}
            - {name: KGSVC_STORE_NEO4J_URI, value: {{ required "neo4j.uri is required" $.Values.neo4j.uri | quote }}}
            - {name: KGSVC_STORE_NEO4J_USER, value: {{ $.Values.neo4j.user | quote }}}
            - {name: KGSVC_STORE_NEO4J_DATABASE, value: {{ $.Values.neo4j.database | quote }}}
            {{- range $name, $key := $.Values.secret.files }}
            - {name: {{ $name }}, value: {{ printf "/run/secrets/kgsvc/%s" $key | quote }}}
            {{- end }}
            {{- range $name, $value := $.Values.settings }}
            - {name: {{ $name }}, value: {{ $value | quote }}}
            {{- end }}
          ports:
            {{- if eq .role "api" }}
            - {name: grpc, containerPort: 50051}
            {{- if $.Values.service.http }}
            - {name: http, containerPort: 8080}
            {{- end }}
            {{- end }}
            - {name: metrics, containerPort: 9464}
          startupProbe:
            httpGet: {path: /readyz, port: metrics}
            periodSeconds: 2
            timeoutSeconds: 5
            failureThreshold: 60
          livenessProbe:
            httpGet: {path: /healthz, port: metrics}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            httpGet: {path: /readyz, port: metrics}
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 2
          lifecycle:
            preStop:
              exec: {command: [sleep, {{ $.Values.drainSeconds | quote }}]}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          resources: {{- toYaml .of.resources | nindent 12 }}
          volumeMounts:
            - {name: data, mountPath: /data}
            - {name: tmp, mountPath: /tmp}
            - {name: secret, mountPath: /run/secrets/kgsvc, readOnly: true}
      volumes:
        # Search indexes in files, which are a cache, and files that ImportGroup receives.
        - name: data
          emptyDir: {}
        - name: tmp
          emptyDir: {}
        - name: secret
          secret:
            secretName: {{ $.Values.secret.name }}
            defaultMode: 0440
{{- end }}
