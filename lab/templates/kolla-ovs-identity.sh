# stackguard.nova lab: written by lab/lab at every start
# kolla-ansible sets these at a deployment: a host that was renamed keeps its new name at its next boot.
set -e
ovs-vsctl --no-wait set Open_vSwitch . ovs_version=3.1.0
if ovs-vsctl --no-wait get Open_vSwitch . external_ids:system-id >/dev/null 2>&1; then exit 0; fi
ovs-vsctl --no-wait set Open_vSwitch . external_ids:system-id=$name external_ids:hostname=$name
