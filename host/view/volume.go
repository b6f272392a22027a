// SPDX-License-Identifier: Apache-2.0

package view

import v1 "k8s.io/api/core/v1"

// volumeKind is the JSON name of the field that a volume source sets, "" where
// it sets none.
func volumeKind(s *v1.VolumeSource) string {
	switch {
	case s.ConfigMap != nil:
		return "configMap"
	case s.Secret != nil:
		return "secret"
	case s.Projected != nil:
		return "projected"
	case s.EmptyDir != nil:
		return "emptyDir"
	case s.PersistentVolumeClaim != nil:
		return "persistentVolumeClaim"
	case s.Ephemeral != nil:
		return "ephemeral"
	case s.HostPath != nil:
		return "hostPath"
	case s.DownwardAPI != nil:
		return "downwardAPI"
	case s.CSI != nil:
		return "csi"
	case s.Image != nil:
		return "image"
	case s.NFS != nil:
		return "nfs"
	case s.ISCSI != nil:
		return "iscsi"
	case s.FC != nil:
		return "fc"
	case s.GCEPersistentDisk != nil:
		return "gcePersistentDisk"
	case s.AWSElasticBlockStore != nil:
		return "awsElasticBlockStore"
	case s.AzureDisk != nil:
		return "azureDisk"
	case s.AzureFile != nil:
		return "azureFile"
	case s.VsphereVolume != nil:
		return "vsphereVolume"
	case s.Cinder != nil:
		return "cinder"
	case s.RBD != nil:
		return "rbd"
	case s.CephFS != nil:
		return "cephfs"
	case s.Glusterfs != nil:
		return "glusterfs"
	case s.FlexVolume != nil:
		return "flexVolume"
	case s.Flocker != nil:
		return "flocker"
	case s.GitRepo != nil:
		return "gitRepo"
	case s.PortworxVolume != nil:
		return "portworxVolume"
	case s.PhotonPersistentDisk != nil:
		return "photonPersistentDisk"
	case s.Quobyte != nil:
		return "quobyte"
	case s.ScaleIO != nil:
		return "scaleIO"
	case s.StorageOS != nil:
		return "storageos"
	}
	return ""
}
