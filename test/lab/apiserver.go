// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/keyutil"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// apiServerTimeout bounds the time until /readyz answers: about four seconds
// when the machine is idle, several times that while it compiles.
const apiServerTimeout = 120 * time.Second

type apiServer struct {
	url  string
	done <-chan struct{} // closed when the server has ended, wanted or not
	stop func() error
}

// startAPIServer starts kube-apiserver on a free loopback port. Its
// certificates come from ca, which also signs clients; service account tokens
// can be requested and are accepted; authorization is RBAC.
func startAPIServer(ctx context.Context, dir, etcdURL string, ca *authority, workloads bool) (*apiServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	opts, err := apiServerOptions(listener, dir, etcdURL, ca)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	if workloads {
		if err := utilfeature.DefaultMutableFeatureGate.Set(WorkloadGates); err != nil {
			listener.Close()
			return nil, fmt.Errorf("kube-apiserver: %w", err)
		}
		opts.APIEnablement.RuntimeConfig = cliflag.ConfigurationMap{"scheduling.k8s.io/v1beta1": "true", "scheduling.k8s.io/v1alpha3": "true"}
	}
	// Not derived from ctx's cancellation: clients are stopped first.
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	run, err := prepareAPIServer(runCtx, opts)
	if err != nil {
		cancel()
		listener.Close()
		return nil, fmt.Errorf("kube-apiserver: %w", err)
	}
	done := make(chan struct{})
	var runErr error
	go func() {
		defer close(done)
		runErr = run(runCtx)
	}()
	return &apiServer{
		url:  "https://" + listener.Addr().String(),
		done: done,
		stop: func() error {
			cancel()
			<-done
			if runErr != nil {
				return fmt.Errorf("kube-apiserver: %w", runErr)
			}
			return nil
		},
	}, nil
}

func apiServerOptions(listener net.Listener, dir, etcdURL string, ca *authority) (*options.ServerRunOptions, error) {
	// Schedulers look both authorities up in kube-system's ConfigMap
	// extension-apiserver-authentication, and log a warning for a missing one.
	frontProxy, err := newAuthority("berth-lab-front-proxy")
	if err != nil {
		return nil, err
	}
	caFile := filepath.Join(dir, "ca.crt")
	frontProxyFile := filepath.Join(dir, "front-proxy-ca.crt")
	if err := errors.Join(
		os.WriteFile(caFile, ca.certPEM, 0o600),
		os.WriteFile(frontProxyFile, frontProxy.certPEM, 0o600),
	); err != nil {
		return nil, err
	}
	certFile, keyFile, err := ca.issueServing(dir, "kube-apiserver")
	if err != nil {
		return nil, err
	}
	tokenKey, err := newKey()
	if err != nil {
		return nil, err
	}
	tokenPEM, err := keyutil.MarshalPrivateKeyToPEM(tokenKey)
	if err != nil {
		return nil, err
	}
	tokenFile := filepath.Join(dir, "service-account.key")
	if err := os.WriteFile(tokenFile, tokenPEM, 0o600); err != nil {
		return nil, err
	}

	s := options.NewServerRunOptions()
	s.SecureServing.Listener = listener
	s.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	s.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
	s.SecureServing.ExternalAddress = net.IPv4(127, 0, 0, 1)
	s.SecureServing.ServerCert.CertKey.CertFile = certFile
	s.SecureServing.ServerCert.CertKey.KeyFile = keyFile
	s.Etcd.StorageConfig.Transport.ServerList = []string{etcdURL}
	s.ServiceClusterIPRanges = "10.0.0.0/24"
	s.EndpointReconcilerType = "none"
	s.Authentication.ClientCert.ClientCA = caFile
	s.Authentication.RequestHeader.ClientCAFile = frontProxyFile
	s.Authentication.RequestHeader.AllowedNames = []string{"front-proxy"}
	s.Authentication.RequestHeader.UsernameHeaders = []string{"X-Remote-User"}
	s.Authentication.RequestHeader.GroupHeaders = []string{"X-Remote-Group"}
	s.Authentication.RequestHeader.ExtraHeaderPrefixes = []string{"X-Remote-Extra-"}
	s.ServiceAccountSigningKeyFile = tokenFile
	s.Authentication.ServiceAccounts.KeyFiles = []string{tokenFile}
	s.Authentication.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc"}
	s.Authorization.Modes = []string{"RBAC"}
	// Both wait for work of the controller manager: a default ServiceAccount in
	// each namespace, and the removal of a new node's not-ready taint.
	s.Admission.GenericAdmission.DisablePlugins = []string{"ServiceAccount", "TaintNodesByCondition"}
	return s, nil
}

// prepareAPIServer does what kube-apiserver's command does between its flags
// and the call that serves, which it returns.
func prepareAPIServer(ctx context.Context, s *options.ServerRunOptions) (func(context.Context) error, error) {
	if err := s.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	completed, err := s.Complete(ctx)
	if err != nil {
		return nil, err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, utilerrors.NewAggregate(errs)
	}
	config, err := app.NewConfig(completed)
	if err != nil {
		return nil, err
	}
	full, err := config.Complete()
	if err != nil {
		return nil, err
	}
	server, err := app.CreateServerChain(full)
	if err != nil {
		return nil, err
	}
	prepared, err := server.PrepareRun()
	if err != nil {
		return nil, err
	}
	return prepared.Run, nil
}

// waitReady returns when the API server is ready to be used by a test: it is
// healthy, and the namespaces that it creates in the background exist.
func waitReady(ctx context.Context, client kubernetes.Interface, done <-chan struct{}) error {
	ended := errors.New("kube-apiserver ended before it was ready")
	last := errors.New("no answer yet")
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, apiServerTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-done:
			return false, ended
		default:
		}
		var code int
		answer := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&code)
		if code != http.StatusOK {
			last = fmt.Errorf("/readyz answered %d: %w", code, answer.Error())
			return false, nil
		}
		for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
			_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				last = err
				return false, nil
			}
			if err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("kube-apiserver not ready: %w (%w)", err, last)
	}
	return err
}
