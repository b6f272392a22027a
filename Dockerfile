# SPDX-License-Identifier: Apache-2.0
#
# The scheduler as one static binary. Build it with `make image`, or:
#   docker build -t berth-scheduler:dev .
# BUILDER is any image with this Go version and git; BASE any image at all: a
# distroless one brings CA certificates and time zones, a distribution's a shell.
ARG BUILDER=golang:1.26
ARG BASE=scratch

FROM ${BUILDER} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath \
      -ldflags="-s -w -X main.version=${VERSION} -X k8s.io/component-base/version.gitVersion=$(awk '$1 == "k8s.io/kubernetes" {print $2}' go.mod)" \
      -o /out/berth-scheduler ./cmd/berth-scheduler \
 && mkdir -m 1777 /out/tmp

FROM ${BASE}
# With /tmp, where modules are compiled: an image from scratch has none.
COPY --from=build /out/ /
USER 65532:65532
EXPOSE 10259
ENTRYPOINT ["/berth-scheduler"]
