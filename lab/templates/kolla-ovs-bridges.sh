# stackguard.nova lab: written by lab/lab at every start
set -e
ovs-vsctl --timeout=60 --may-exist add-br br-phys -- set bridge br-phys datapath_type=netdev
ovs-vsctl --timeout=60 --may-exist add-port br-phys eth1
