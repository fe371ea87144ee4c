# stackguard.nova lab: written by lab/lab at every start
# What a deployment tool writes once: a host that was renamed keeps its new name at its next boot.
set -e
ovs-vsctl --no-wait set Open_vSwitch . ovs_version=3.1.0
if ovs-vsctl --no-wait get Open_vSwitch . external_ids:system-id >/dev/null 2>&1; then exit 0; fi
ovs-vsctl --no-wait set Open_vSwitch . external_ids:system-id=$system_id$hostname_key$gateway_key \
  external_ids:ovn-remote='"$ovn_remote"' external_ids:ovn-encap-type=geneve external_ids:ovn-encap-ip=$tunnel \
  external_ids:ovn-bridge-mappings=physnet1:br-phys external_ids:ovn-bridge-datapath-type=netdev \
  external_ids:ovn-remote-probe-interval=$probe_ms external_ids:ovn-openflow-probe-interval=60
