# stackguard.nova lab: written by lab/lab at every start
# The tunnel's address is on a bridge of the userspace datapath: on eth1 itself geneve would not end in Open vSwitch.
set -e
ovs-vsctl --timeout=20 --may-exist add-br br-phys -- set Bridge br-phys datapath_type=netdev fail_mode=standalone \
  -- --may-exist add-port br-phys eth1
ovs-vsctl --timeout=20 --may-exist add-br br-int -- set Bridge br-int datapath_type=netdev fail_mode=secure
ip address replace $tunnel/24 dev br-phys
ip link set br-phys up
