# One image with all programs of taskfleet: static, without a shell, not root.
#
#   docker build -t taskfleet .
#   docker run --rm taskfleet worker --help
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -ldflags="-s -w" -o /out/ ./cmd/producer ./cmd/worker ./cmd/taskctl ./cmd/ydbembed
# A folder that the embedded server may write to, for those who want one.
RUN mkdir -p /rootfs/data

FROM scratch
LABEL org.opencontainers.image.title="taskfleet" \
      org.opencontainers.image.description="A durable task queue and a self-balancing fleet of workers on YDB"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:65532 /rootfs/data /data
COPY --from=build /out/ /usr/local/bin/
ENV PATH=/usr/local/bin
USER 65532:65532
# Metrics and health of worker and producer, which without --metrics-addr :9090
# are served inside the container only; what a producer listens on.
EXPOSE 9090 8080
STOPSIGNAL SIGTERM
CMD ["worker"]
