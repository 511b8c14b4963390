// One file an icon, so that a bundle has only those that are used: https://lucide.dev/icons names them.
export { default as Bot } from 'lucide-react/icons/bot';
export { default as Braces } from 'lucide-react/icons/braces';
export { default as ClipboardList } from 'lucide-react/icons/clipboard-list';
export { default as Clock } from 'lucide-react/icons/clock';
export { default as GitBranch } from 'lucide-react/icons/git-branch';
export { default as LayoutGrid } from 'lucide-react/icons/layout-grid';
export { default as MessageSquare } from 'lucide-react/icons/message-square';
export { default as PhoneForwarded } from 'lucide-react/icons/phone-forwarded';
export { default as PhoneOff } from 'lucide-react/icons/phone-off';
export { default as Plus } from 'lucide-react/icons/plus';
export { default as Redo2 } from 'lucide-react/icons/redo-2';
export { default as Trash2 } from 'lucide-react/icons/trash-2';
export { default as Undo2 } from 'lucide-react/icons/undo-2';
export { default as Volume2 } from 'lucide-react/icons/volume-2';
export { default as Workflow } from 'lucide-react/icons/workflow';
export { default as Wrench } from 'lucide-react/icons/wrench';
